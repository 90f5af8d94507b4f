//! A signal of a number that the tracer owns, but sent for the program: delivered as the kernel would have.

#![allow(unsafe_code, reason = "the program's handler and the kernel's siginfo are reached by address")]

use super::process::{Process, set_mask};
use super::program_handler;
use super::program_signals::mask_bit;
use super::saved::Saved;
use super::sigaction::{KernelAction, replace};
use super::signal_frame::{self, Delivered, RETURN_ADDRESS};
use super::stepper::Stepper;
use super::thread::{Phase, Thread};
use crate::address::RuntimeAddr;
use crate::event::siginfo::TRAP_PERF;
use crate::raw;
use crate::record::marker::Marker;
use crate::record::verdict::Verdict;

const DEFAULT: u64 = libc::SIG_DFL as u64;
const IGNORE: u64 = libc::SIG_IGN as u64;

/// `signal` goes where the program wants it; `false` when that is nowhere, at least for now, and the interrupted code
/// goes on.
///
/// # Signal safety
/// As `Stepper::arrive`; and tgkill with rt_sigaction where the signal's default is to come.
pub(super) fn deliver(
    process: &'static Process,
    tid: u32,
    signal: i32,
    info: *mut libc::siginfo_t,
    context: &mut libc::ucontext_t,
) -> bool {
    let Some(action) = process.signals.action(signal) else { return false };
    // SAFETY: the kernel passes a siginfo_t, which nothing changes meanwhile.
    let came = unsafe { &*info };
    let forced = is_forced(came);
    if let Some(thread) = process.threads.find(tid)
        && thread.blocked_by_program & mask_bit(signal) != 0
    {
        if forced {
            die(tid, signal);
        } else {
            process.hold(tid, signal, info);
        }
        return forced;
    }
    match action.handler {
        IGNORE if !forced => return false,
        DEFAULT | IGNORE => die(tid, signal),
        _ => {
            if action.flags & libc::SA_RESETHAND as u64 != 0 {
                process.signals.set_action(signal, &KernelAction { handler: DEFAULT, ..action });
            }
            enter_handler(process, tid, signal, &action, info, context);
        }
    }
    true
}

/// Whether the kernel lets the process neither block nor ignore it: raised by an instruction (Linux
/// `force_sig_info`), and not by an event.
fn is_forced(info: &libc::siginfo_t) -> bool {
    match info.si_signo {
        libc::SIGTRAP => info.si_code > 0 && info.si_code != TRAP_PERF,
        libc::SIGSYS => info.si_code > 0,
        _ => false,
    }
}

/// The signal's default action, which ends the process when the handler returns.
fn die(tid: u32, signal: i32) {
    let _ = replace(signal, Some(&KernelAction::default()));
    let pid = u64::from(raw::getpid());
    // SAFETY: a signal to ourselves.
    let _ = unsafe { raw::syscall(libc::SYS_tgkill, [pid, tid.into(), signal as u64, 0, 0, 0]) };
}

fn enter_handler(
    process: &'static Process,
    tid: u32,
    signal: i32,
    action: &KernelAction,
    info: *mut libc::siginfo_t,
    context: &mut libc::ucontext_t,
) {
    let owned = process.signals.owned();
    process.patches.bring_home(&mut Saved::new(context));
    let delivered = Delivered { signal, info, action, owned };
    let thread = process.threads.find(tid);
    let set_up =
        thread.is_some_and(|thread| signal_frame::set_up(&delivered, context, thread, &process.memory()));
    if set_up {
        let blocks = delivered.blocks();
        let saved = Saved::new(context);
        let frame = saved.rsp();
        if !program_handler::follow(process, signal, blocks, saved) && process.watches_calls().is_some() {
            believe(process, tid, frame, blocks & owned);
        }
    } else {
        call(&delivered, process.threads.find(tid), context);
        take_up(process, tid, context, signal, action.handler);
    }
}

/// A handler that is not followed begins at `frame`: until its rt_sigreturn, which is watched for, the program believes
/// that the handler's `blocks` are blocked.
fn believe(process: &Process, tid: u32, frame: u64, blocks: u64) {
    if let Some(thread) = process.threads.find(tid) {
        let blocked = thread.blocked_by_program;
        if thread.unfollowed.begin(frame + RETURN_ADDRESS, blocked) {
            thread.blocked_by_program = blocked | blocks;
        }
    }
}

/// The frame lies on the program's own stack, in a thread that the tracer gave none: calls the program's handler on
/// top of it.
fn call(delivered: &Delivered<'_>, thread: Option<&mut Thread>, context: &mut libc::ucontext_t) {
    let saved = Saved::new(context).mask();
    let blocked = set_mask(Some((saved | delivered.blocks()) & !delivered.owned));
    if let Some(thread) = thread {
        thread.dispatch.allow();
    }
    // SAFETY: the program installed this address as a handler of this signal; with SA_SIGINFO it takes all three
    // arguments, without it it ignores two.
    let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::ucontext_t) =
        unsafe { std::mem::transmute(delivered.action.handler as usize) };
    handler(delivered.signal, delivered.info, context);
    if let Ok(all) = blocked {
        let _ = set_mask(Some(all));
    }
}

/// After a handler that was called: stepping goes on where it sent control.
fn take_up(process: &'static Process, tid: u32, context: &mut libc::ucontext_t, signal: i32, handler: u64) {
    let Some(thread) = process.threads.find(tid) else { return };
    let mut stepper = Stepper { process, thread, saved: Saved::new(context), tid };
    stepper.know_stack();
    let handled = Marker::Signal { number: signal as u32, handler: RuntimeAddr(handler) };
    stepper.resume_stepping(&[handled, Marker::Sigreturn]);
}

impl Stepper<'_> {
    /// Takes up stepping behind a trap that the program's handler has dealt with, unless control is elsewhere.
    fn resume_stepping(&mut self, markers: &[Marker]) {
        let here = self.process.image().in_scope(self.saved.rip());
        if self.thread.phase == Phase::Stepping {
            let registers = self.saved.registers(self.thread.hides_trap_flag());
            self.thread.set_out = self.settle(&registers);
            if self.thread.sliding.is_some() {
                return self.arrive(Verdict::Exact);
            }
        }
        self.thread.frames.pop_above(self.saved.rsp(), self.thread.bounds);
        let followed = matches!(self.thread.phase, Phase::Stepping | Phase::Native | Phase::Faulting);
        if !followed || !here || self.thread.frames.is_empty() {
            return self.pass_standing();
        }
        for marker in markers {
            let _ = self.thread.writer.marker(&self.process.buffer, marker);
        }
        self.continue_here(Verdict::Exact);
    }
}
