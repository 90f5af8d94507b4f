//! Where signals arrive: whose is it, and what does its address say?

#![allow(unsafe_code, reason = "the kernel passes a signal's facts by pointer")]

use std::sync::atomic::Ordering;

use super::code::name_target;
use super::counter::COUNTER_TAG;
use super::crossing;
use super::dispatch;
use super::frames::Frame;
use super::patch::Home;
use super::process::{Process, set_mask};
use super::program_handler;
use super::program_signals::mask_bit;
use super::saved::Saved;
use super::sigaction::{KernelAction, replace};
use super::site;
use super::stepper::Stepper;
use super::thread::Phase;
use super::wrapper;
use crate::address::RuntimeAddr;
use crate::event::siginfo::{EventSignal, POLL_HUP, POLL_IN, TRAP_PERF, TRAP_PERF_FLAG_ASYNC, TRAP_TRACE};
use crate::event::tail::handler_with_tail;
use crate::image::memory::Memory;
use crate::raw;
use crate::record::control::Engine;
use crate::record::marker::{LostReason, Marker};
use crate::record::verdict::Verdict;
use crate::registers::flag;

/// `sig_data` of the three kinds of event: what a sigtrap signal says sent it.
pub const TRIGGER_TAG: u64 = 0x6f76_7374_7472_6967;
pub const STEP_TAG: u64 = 0x6f76_7374_7374_6570;
pub const GUARD_TAG: u64 = 0x6f76_7374_6775_6172;

/// Who sent a signal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sender {
    Step,
    /// A trigger or a return guard: standing breakpoints, told apart by address.
    Standing,
    TrapFlag,
    /// The instruction counter has overflowed.
    Counter,
    Program,
}

handler_with_tail! {
    /// The handler of SIGTRAP, and of the fasync signals while such an event is armed.
    ///
    /// # Signal safety
    /// Runs with all signals blocked, on the alternate stack where one is set. Raw system calls only; libc's errno
    /// is never touched. See `docs/signal-safety.md`.
    ///
    /// # Safety
    /// Called by the kernel as a handler with SA_SIGINFO, and by nobody else.
    pub on_signal => handled
}

/// What [`on_signal`] does before its tail: the counter that the tail is to re-arm, or -1.
unsafe extern "C" fn handled(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::ucontext_t) -> i32 {
    let Some(process) = Process::current() else { return -1 };
    // SAFETY: the kernel passes a ucontext_t on this stack, which nothing else refers to.
    if let Some(context) = unsafe { context.as_mut() } {
        handle(process, signal, info, context);
        if let Some(own_text) = process.watches_calls()
            && let Some(thread) = process.threads.find(raw::gettid())
        {
            thread.dispatch.settle(thread.phase, own_text);
        }
    }
    if process.settings.engine != Engine::Instructions {
        return -1;
    }
    process.threads.find(raw::gettid()).map_or(-1, |thread| thread.counter.to_arm())
}

fn handle(
    process: &'static Process,
    signal: i32,
    info: *mut libc::siginfo_t,
    context: &mut libc::ucontext_t,
) {
    let mut saved = Saved::new(context);
    if let Some(Home::Behind(address)) = process.patches.home_of(saved.rip()) {
        saved.go_to(address);
    }
    if signal == libc::SIGTRAP
        && let Some(number) = wrapper::trapped_at(saved.rip())
    {
        return program_handler::begin(process, number, saved);
    }
    if signal == libc::SIGTRAP && site::trapped_at(saved.rip()).is_some() {
        return dispatch::come_back(process, saved);
    }
    if signal == libc::SIGTRAP
        && let Some(crossing) = crossing::trapped_at(saved.rip())
    {
        return crossing::cross(process, crossing, saved);
    }
    let before = RuntimeAddr(saved.rip().0.wrapping_sub(1));
    let patched = signal == libc::SIGTRAP && process.patches.trapped_at(before);
    // SAFETY: the kernel passes a siginfo_t, of which this is the beginning; it is only read.
    let event = unsafe { &*info.cast::<EventSignal>() };
    if signal == libc::SIGSYS && dispatch::take(process, event, Saved::new(context)) {
        return;
    }
    let mut saved = Saved::new(context);
    let sender = sender(process, signal, event, patched);
    if patched && sender == Sender::Standing {
        saved.go_to(before);
    }
    let taken = sender != Sender::Program
        && take(process, sender, is_asynchronous(sender, event), Saved::new(context));
    if !taken && let Some(handler) = pass_on(process, signal, info, context) {
        after_program_handler(process, context, signal, handler);
    }
}

fn sender(process: &Process, signal: i32, info: &EventSignal, patched: bool) -> Sender {
    let counts = process.settings.engine == Engine::Instructions;
    let overflow = if counts { Sender::Counter } else { Sender::Step };
    if signal == process.fasync_signal {
        // Codes in between do not occur.
        return if (POLL_IN..=POLL_HUP).contains(&info.code) { overflow } else { Sender::Program };
    }
    if signal == libc::SIGIO {
        // Plain SIGIO stands in for a real-time signal that found its queue full (kernel-facts 5).
        return if info.code == libc::SI_KERNEL { overflow } else { Sender::Program };
    }
    match info.code {
        libc::SI_KERNEL if patched => Sender::Standing,
        TRAP_TRACE => Sender::TrapFlag,
        TRAP_PERF => match info.data {
            STEP_TAG => Sender::Step,
            COUNTER_TAG => Sender::Counter,
            TRIGGER_TAG | GUARD_TAG => Sender::Standing,
            _ => Sender::Program,
        },
        _ => Sender::Program,
    }
}

fn is_asynchronous(sender: Sender, info: &EventSignal) -> bool {
    sender != Sender::TrapFlag && info.code == TRAP_PERF && info.flags & TRAP_PERF_FLAG_ASYNC != 0
}

/// Deals with a signal of our own events. `false`: a single-step trap that the program itself asked for.
fn take(process: &'static Process, sender: Sender, asynchronous: bool, mut saved: Saved<'_>) -> bool {
    let tid = raw::gettid();
    let rip = saved.rip();
    let is_entry = process.function_at(rip).is_some() && !asynchronous;
    let found = if is_entry { process.threads.find_or_make(tid, process) } else { process.threads.find(tid) };
    let Some(thread) = found else {
        if process.patches.stands_at(rip) {
            match process.patches.copy_of(rip) {
                Some(copy) => saved.go_to(copy),
                // A thread without a block cannot step over a patch: it goes for good.
                None => process.patches.clear(process.memory()),
            }
        }
        if is_entry && is_traced_process(process, tid) {
            count_entry(process, false);
        }
        return sender != Sender::TrapFlag;
    };
    let counted = thread.counter.stop(process);
    if let Some(patched) = thread.stepping_over.filter(|patched| *patched != rip) {
        process.patches.stepped_over(patched);
        thread.stepping_over = None;
        let awaited = thread.phase.is_traced() && (thread.trap_flag || thread.expected == rip);
        if sender == Sender::TrapFlag && !awaited {
            saved.set_flag(flag::TF, false);
            return true;
        }
    } else if sender == Sender::TrapFlag && !thread.trap_flag {
        return thread.stepping_over.is_some();
    }
    if sender == Sender::Step {
        thread.step.note_stop();
    }
    let mut stepper = Stepper { process, thread, saved, tid };
    stepper.know_stack();
    let traced = stepper.thread.phase.is_traced();
    if stepper.thread.narrow && sender == Sender::TrapFlag {
        stepper.step_narrow();
    } else if sender == Sender::Counter {
        let late = counted.is_none_or(|counted| !counted.overflowed);
        stepper.thread.counter.overdue = stepper.thread.counter.overdue.saturating_sub(1);
        match counted {
            _ if stepper.thread.phase != Phase::Stepping => stepper.pass_standing(),
            // The stop that it stands for was taken by another signal.
            _ if late => stepper.await_stop(stepper.thread.expected, false),
            Some(counted) => stepper.overflowed(counted.retired),
            None => stepper.pass_standing(),
        }
    } else if asynchronous {
        if traced {
            stepper.find_again();
        }
    } else if traced && stepper.is_expected() {
        // Without a pending row it is a handler of the program's that has returned there.
        if is_entry && !stepper.thread.pending.rows().is_empty() {
            count_entry(process, true);
        }
        stepper.prove(Verdict::Exact);
    } else if is_entry {
        enter(stepper);
    } else if stepper.thread.guard.at() == Some(rip) && stepper.call_is_over() {
        stepper.returned_unseen();
    } else if sender == Sender::TrapFlag {
        stepper.trap_elsewhere();
    } else if let Some(counted) = counted
        && stepper.thread.phase == Phase::Stepping
    {
        stepper.overflowed(counted.retired);
    } else {
        // A breakpoint on the way: a native stretch that passes its own resume address deeper down.
        stepper.pass_standing();
    }
    true
}

/// Whether this process is the one to trace: the first of its tree to enter.
fn is_traced_process(process: &Process, tid: u32) -> bool {
    let pid = raw::getpid();
    if process.pid.load(Ordering::Relaxed) != pid {
        return false;
    }
    match process.progress.owner.compare_exchange(0, pid, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => {
            process.announce(tid);
            true
        }
        Err(owner) => owner == pid,
    }
}

pub(super) fn count_entry(process: &Process, traced: bool) {
    let counters = process.buffer.counters();
    for entered in [&process.progress.entered, &counters.entered] {
        entered.fetch_add(1, Ordering::Relaxed);
    }
    if traced {
        for traced in [&process.progress.traced, &counters.traced] {
            traced.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Control is at the first instruction of a traced function, not by a step.
fn enter(mut stepper: Stepper<'_>) {
    let process = stepper.process;
    let rsp = stepper.saved.rsp();
    let mut return_address = [0; 8];
    // Unreadable only if the program is about to fault on its own stack.
    let _ = process.memory().read(RuntimeAddr(rsp), &mut return_address);
    let frame = Frame { slot: rsp, returns_to: RuntimeAddr(u64::from_le_bytes(return_address)) };
    let nested = !stepper.call_is_over_at_entry();
    match stepper.thread.phase {
        phase if phase.is_traced() && nested => {
            count_entry(process, true);
            return stepper.enter_nested(frame);
        }
        Phase::Untraced | Phase::Muted if nested => {
            count_entry(process, false);
            return stepper.pass_standing();
        }
        Phase::Muted | Phase::Untraced => stepper.end(),
        Phase::Idle => {}
        _ => stepper.returned_unseen(),
    }
    if !is_traced_process(process, stepper.tid) {
        return stepper.pass_standing();
    }
    let settings = &process.settings;
    let call = process.progress.calls.fetch_add(1, Ordering::Relaxed) + 1;
    let awaited = call < settings.first_call;
    let wanted = !awaited && call - settings.first_call < settings.calls;
    count_entry(process, wanted);
    stepper.thread.frames.reset(frame);
    let Some(function) = process.function_at(stepper.saved.rip()).filter(|_| wanted) else {
        stepper.thread.phase = if awaited { stepper.pass_by(frame) } else { Phase::Idle };
        return stepper.pass_standing();
    };
    stepper.enter(call, function.pattern);
}

impl Stepper<'_> {
    /// Whether this stop is the one that was prepared. Out of scope it must also be the right activation: the
    /// same code may run deeper down.
    fn is_expected(&self) -> bool {
        let rip = self.saved.rip();
        let landing = self.thread.phase == Phase::Native && self.thread.exit.at() == Some(rip);
        let here = rip == self.thread.expected || landing;
        if let Phase::Restartable(section) = self.thread.phase {
            return here || section.exits.contains(&rip);
        }
        let awaited = |frame: Frame| self.thread.bounds.contains(frame.slot) && frame.slot < self.saved.rsp();
        here && (self.thread.phase == Phase::Stepping || self.thread.frames.top().is_some_and(awaited))
    }

    /// Whether RSP says that the outermost call has returned.
    fn call_is_over(&self) -> bool {
        let rsp = self.saved.rsp();
        self.thread
            .frames
            .outermost()
            .is_none_or(|outermost| self.thread.bounds.contains(outermost.slot) && outermost.slot < rsp)
    }

    /// The same at a function's first instruction, where a new call may reuse the old one's return slot.
    fn call_is_over_at_entry(&self) -> bool {
        let rsp = self.saved.rsp();
        self.thread
            .frames
            .outermost()
            .is_none_or(|outermost| self.thread.bounds.contains(outermost.slot) && outermost.slot <= rsp)
    }

    /// A call before the first wanted one: its end must be seen, or a later call from a deeper frame would look
    /// nested in it.
    fn pass_by(&mut self, frame: Frame) -> Phase {
        match self.thread.guard.place(frame.returns_to, self.process.fasync_signal) {
            Ok(()) => Phase::Untraced,
            Err(_) => Phase::Idle,
        }
    }

    /// A native stretch called back into the traced function.
    fn enter_nested(&mut self, frame: Frame) {
        let lost = self.thread.phase != Phase::Native;
        if lost {
            self.note_lost(LostReason::Resumed);
        }
        let registers = self.saved.registers(self.thread.trap_flag);
        let synced = self.thread.writer.sync(&self.process.buffer, &registers);
        self.thread.frames.pop_above(self.saved.rsp(), self.thread.bounds);
        self.thread.frames.push(frame);
        self.thread.pending.clear();
        match synced {
            Ok(()) => self.arrive(if lost { Verdict::Lost } else { Verdict::Exact }),
            Err(_) => self.mute(LostReason::NoRoom, 0),
        }
    }

    /// The call is over, but the stepper had not seen it coming: never a `leave`.
    fn returned_unseen(&mut self) {
        if !matches!(self.thread.phase, Phase::Muted | Phase::Untraced) {
            self.note_lost(LostReason::ReturnedUnseen);
        }
        self.end();
    }

    /// SIGTRAP was blocked while the event fired: RIP is wherever it was unblocked.
    fn find_again(&mut self) {
        self.mark(&Marker::Masked { stops: 1 });
        self.note_lost(LostReason::Blocked);
        self.thread.pending.clear();
        self.thread.frames.pop_above(self.saved.rsp(), self.thread.bounds);
        if self.thread.frames.is_empty() {
            return self.end();
        }
        self.continue_here(Verdict::Lost);
    }

    /// Takes up stepping behind a trap that the program's handler has dealt with, unless control is elsewhere.
    fn resume_stepping(&mut self, markers: &[Marker]) {
        let here = self.process.image().in_scope(self.saved.rip());
        if self.thread.phase == Phase::Stepping {
            let registers = self.saved.registers(self.thread.trap_flag);
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

    /// Takes up stepping, or awaits the top frame's return, wherever the thread is now.
    pub(super) fn continue_here(&mut self, verdict: Verdict) {
        let registers = self.saved.registers(self.thread.trap_flag);
        if self.process.image().in_scope(registers.rip) {
            let _ = self.thread.writer.sync(&self.process.buffer, &registers);
            self.arrive(verdict);
        } else {
            self.thread.registers = registers;
            let _ = name_target(self.process, self.tid, registers.rip);
            self.go_native(registers.rip);
        }
    }

    /// A single-step trap at another address than the expected one.
    fn trap_elsewhere(&mut self) {
        let rip = self.saved.rip();
        // A CPU or hypervisor that does not hold back the trap behind a load of ss: one more comes.
        if self.thread.pending.rows().iter().skip(1).any(|row| row.fetched.address() == rip) {
            return self.pass_standing();
        }
        let expected = self.thread.expected;
        self.prove(Verdict::Unexplained { expected });
    }

    pub(super) fn note_lost(&mut self, reason: LostReason) {
        self.note_lost_rows(reason, 0);
    }

    pub(super) fn note_lost_rows(&mut self, reason: LostReason, detail: u64) {
        let lost = Marker::Lost { reason, expected: self.thread.expected, found: self.saved.rip(), detail };
        let _ = self.thread.writer.marker(&self.process.buffer, &lost);
    }
}

/// A signal that is the program's own goes where the program wanted it: the handler that has run.
fn pass_on(
    process: &Process,
    signal: i32,
    info: *mut libc::siginfo_t,
    context: &mut libc::ucontext_t,
) -> Option<u64> {
    const DEFAULT: u64 = libc::SIG_DFL as u64;
    const IGNORE: u64 = libc::SIG_IGN as u64;
    let action = process.signals.action(signal)?;
    let tid = raw::gettid();
    let believed = process.threads.find(tid).map_or(0, |thread| thread.blocked_by_program);
    let blocked = believed & mask_bit(signal) != 0;
    // SAFETY: the kernel passes a siginfo_t; si_code is in all its forms.
    let sent_by_kernel = unsafe { (*info).si_code } > 0;
    let raised = sent_by_kernel && matches!(signal, libc::SIGTRAP | libc::SIGSYS);
    match action.handler {
        _ if blocked && !raised => process.hold(tid, signal, info),
        IGNORE if !raised => {}
        handler if !blocked && handler > IGNORE => {
            if action.flags & libc::SA_RESETHAND as u64 != 0 {
                process.signals.set_action(signal, &KernelAction { handler: DEFAULT, ..action });
            }
            // As the kernel would: what was blocked, what the action blocks, and the signal itself, which for us
            // is a belief only.
            let saved = Saved::new(context).mask();
            let owned = process.signals.owned();
            let all = set_mask(Some((saved | action.mask) & !owned));
            if let Some(thread) = process.threads.find(tid) {
                thread.dispatch.allow();
            }
            // SAFETY: the program installed this address as a handler of this signal; with SA_SIGINFO it takes
            // all three arguments, without it it ignores two.
            let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::ucontext_t) =
                unsafe { std::mem::transmute(handler as usize) };
            handler(signal, info, context);
            if let Ok(all) = all {
                let _ = set_mask(Some(all));
            }
            return Some(action.handler);
        }
        // The kernel does not let a process ignore or block a trap of its own.
        _ => {
            let _ = replace(signal, Some(&KernelAction::default()));
            let pid = u64::from(raw::getpid());
            // SAFETY: a signal to ourselves; it is delivered, with its default action, at sigreturn.
            let _ = unsafe { raw::syscall(libc::SYS_tgkill, [pid, tid.into(), signal as u64, 0, 0, 0]) };
        }
    }
    None
}

/// After the program's handler of its own trap: stepping goes on where it sent control.
fn after_program_handler(
    process: &'static Process,
    context: &mut libc::ucontext_t,
    signal: i32,
    handler: u64,
) {
    let tid = raw::gettid();
    let Some(thread) = process.threads.find(tid) else { return };
    let mut stepper = Stepper { process, thread, saved: Saved::new(context), tid };
    stepper.know_stack();
    let handled = Marker::Signal { number: signal as u32, handler: RuntimeAddr(handler) };
    stepper.resume_stepping(&[handled, Marker::Sigreturn]);
}
