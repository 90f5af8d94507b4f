//! The program's own signal handlers, followed: their rows are one depth deeper, between `signal` and `sigreturn`.

#![allow(unsafe_code, reason = "the frame that the kernel has built for the program's handler")]

use super::counter::Taken;
use super::frames::Frame;
use super::nesting::Interruption;
use super::process::Process;
use super::saved::Saved;
use super::signal_frame::{context, is_accessible, move_to_program_stack};
use super::stepper::Stepper;
use super::thread::Phase;
use super::wrapper;
use crate::address::RuntimeAddr;
use crate::image::class::Class;
use crate::image::memory::Memory;
use crate::raw;
use crate::record::marker::{LostReason, Marker};
use crate::record::verdict::Verdict;
use crate::registers::{RSP, Registers, flag};

/// A wrapper has trapped: sends control to the program's handler, and follows it if the thread is being traced.
///
/// # Signal safety
/// As `Stepper::arrive`.
pub(super) fn begin(process: &'static Process, signal: i32, mut saved: Saved<'_>) {
    let action = wrapper::program_action(signal);
    let tid = raw::gettid();
    let thread = process.threads.find(tid);
    if let Some(thread) = &thread
        && action.flags & libc::SA_ONSTACK as u64 != 0
    {
        move_to_program_stack(&mut saved, thread, &process.memory());
    }
    saved.go_to(RuntimeAddr(action.handler));
    let Some(thread) = thread else { return };
    let _ = thread.counter.stop(process, Taken::Anothers);
    thread.counter.again = None;
    let traced = thread.phase.is_traced() && !thread.nesting.is_full();
    let mut stepper = Stepper { process, thread, saved, tid };
    if traced {
        stepper.know_stack();
        stepper.begin_handler(signal, action.mask);
    }
}

impl Stepper<'_> {
    fn begin_handler(&mut self, signal: i32, blocks: u64) {
        let slot = self.saved.rsp();
        let mut return_address = [0; 8];
        let _ = self.process.memory().read(RuntimeAddr(slot), &mut return_address);
        let returns_to = RuntimeAddr(u64::from_le_bytes(return_address));
        // SAFETY: the kernel has just built the frame, or it was copied whole.
        let mut frame = Saved::new(unsafe { context(slot + 8) });
        let interrupted = frame.registers(self.thread.trap_flag);
        if self.thread.trap_flag {
            frame.set_flag(flag::TF, false);
        }
        let expects_fault = self.thread.phase == Phase::Faulting;
        let stepping = matches!(self.thread.phase, Phase::Stepping | Phase::Restartable(_)) || expects_fault;
        let set_out = if self.thread.phase == Phase::Stepping { self.settle(&interrupted) } else { None };
        if let Phase::Restartable(_) = self.thread.phase {
            self.end_section();
        }
        if stepping && !expects_fault && is_fault(signal) && self.saved.sent_by_kernel() {
            self.mark(&Marker::Fault { signal: signal as u32, address: interrupted.rip });
        }
        let blocked = self.thread.blocked_by_program;
        self.thread.blocked_by_program |= blocks & self.process.signals.owned();
        self.thread.nesting.push(Interruption {
            slot,
            returns_to,
            frames: self.thread.frames.used(),
            interrupted,
            stepping,
            set_out,
            blocked,
        });
        self.thread.frames.push(Frame { slot, returns_to });
        let handler = self.saved.rip();
        self.mark(&Marker::Signal { number: signal as u32, handler });
        if self.thread.phase == Phase::Muted {
            return;
        }
        self.thread.trap_flag = false;
        self.continue_here(Verdict::Exact);
    }

    /// A signal has come while rows were pending: writes those that had retired. The registers that a repeated
    /// string instruction, still unfinished, had set out with.
    fn settle(&mut self, interrupted: &Registers) -> Option<Registers> {
        let rows = self.thread.pending.rows();
        let unfinished = rows.iter().position(|row| row.fetched.address() == interrupted.rip);
        let repeats =
            unfinished == Some(0) && rows.first().is_some_and(|row| row.fetched.class == Class::RepString);
        let set_out = repeats.then_some(self.thread.registers);
        let retired = match unfinished {
            Some(before) => before,
            None if rows.last().is_some_and(|row| row.next == interrupted.rip) => rows.len(),
            None => {
                self.note_lost(LostReason::Resumed);
                0
            }
        };
        self.thread.pending.truncate(retired);
        if retired > 0 && self.write_rows(interrupted).is_err() {
            self.mute(LostReason::NoRoom, 0);
        }
        self.thread.pending.clear();
        set_out
    }

    /// Whether control is at the restorer of the innermost handler, RSP at the frame's context.
    pub(super) fn is_at_restorer(&self, registers: &Registers) -> bool {
        self.thread
            .nesting
            .top()
            .is_some_and(|top| registers.rip == top.returns_to && registers.general[RSP] == top.slot + 8)
    }

    /// rt_sigreturn is what comes next, or the restorer that calls it: stepping goes on where the frame says, which
    /// the handler may have changed. `false` when the frame is not one of a handler that was followed.
    pub(super) fn end_handler(&mut self) -> bool {
        let at = self.saved.rsp();
        let followed = self.thread.nesting.top().is_some_and(|top| top.slot + 8 == at);
        if !followed || !is_accessible(at, &self.process.memory()) {
            return false;
        }
        let Some(interruption) = self.thread.nesting.pop() else { return false };
        // SAFETY: readable and writable, and the kernel is about to read it as a context.
        let mut frame = Saved::new(unsafe { context(at) });
        self.mark(&Marker::Sigreturn);
        if self.thread.phase == Phase::Muted {
            return true;
        }
        self.thread.frames.truncate(interruption.frames);
        self.thread.blocked_by_program = interruption.blocked;
        let owned = self.process.signals.owned();
        frame.set_mask(frame.mask() & !owned);
        self.thread.pending.clear();
        let resumed = frame.rip();
        let stepping = interruption.stepping && self.process.image().in_scope(resumed);
        self.thread.set_out = interruption.set_out.filter(|before| stepping && before.rip == resumed);
        self.thread.phase = if stepping { Phase::Stepping } else { Phase::Native };
        let stop = match self.thread.frames.top() {
            _ if stepping => resumed,
            Some(top) => top.returns_to,
            None => {
                self.end();
                return true;
            }
        };
        if stop == resumed {
            // A leftover of a fault would hide the stop (kernel-facts 20).
            frame.set_flag(flag::RF, false);
        }
        self.await_stop(stop, true);
        true
    }

    /// Forgets the handlers that were left without a return.
    pub(super) fn forget_left_handlers(&mut self) {
        let rsp = self.saved.rsp();
        while let Some(left) = self.thread.nesting.left(rsp, self.thread.bounds) {
            let (frames, blocked) = (left.frames, left.blocked);
            self.thread.nesting.pop();
            self.thread.frames.truncate(frames);
            self.thread.blocked_by_program = blocked;
        }
    }
}

/// Signals that an instruction raises.
fn is_fault(signal: i32) -> bool {
    matches!(signal, libc::SIGSEGV | libc::SIGBUS | libc::SIGFPE | libc::SIGILL)
}
