//! The program's own signal handlers, followed: their rows are one depth deeper, between `signal` and `sigreturn`.

#![allow(unsafe_code, reason = "the frame that the kernel has built for the program's handler")]

use super::counter::Taken;
use super::displaced;
use super::frames::Frame;
use super::nesting::Interruption;
use super::process::Process;
use super::program_signals::mask_bit;
use super::saved::Saved;
use super::sigaction;
use super::signal_frame::{self, RETURN_ADDRESS, context, frame, move_to_program_stack};
use super::stepper::{Stepper, pushed_by};
use super::thread::Phase;
use super::wrapper;
use crate::address::RuntimeAddr;
use crate::image::class::Class;
use crate::image::memory::Memory;
use crate::raw;
use crate::record::control::Engine;
use crate::record::marker::{LostReason, Marker};
use crate::record::verdict::Verdict;
use crate::registers::{RAX, RSP, Registers, flag};

const SYSCALL: [u8; 2] = [0x0f, 0x05];
/// `mov rax, 15; syscall` and `mov eax, 15; syscall`.
const RESTORERS: [&[u8]; 2] = [
    &[0x48, 0xc7, 0xc0, libc::SYS_rt_sigreturn as u8, 0, 0, 0, 0x0f, 0x05],
    &[0xb8, libc::SYS_rt_sigreturn as u8, 0, 0, 0, 0x0f, 0x05],
];

/// A wrapper has trapped: sends control to the program's handler, and follows it if the thread is being traced.
///
/// # Signal safety
/// As `Stepper::arrive`.
pub(super) fn begin(process: &'static Process, signal: i32, mut saved: Saved<'_>) {
    // SAFETY: the kernel has just built the frame.
    process.patches.bring_home(&mut Saved::new(unsafe { context(saved.rsp() + RETURN_ADDRESS) }));
    let action = wrapper::program_action(signal);
    if let Some(thread) = process.threads.find(raw::gettid()) {
        move_to_program_stack(&mut saved, thread, &process.memory());
    }
    saved.go_to(RuntimeAddr(action.handler));
    follow(process, signal, action.mask, saved);
}

/// Control is about to go to the first instruction of the program's handler of `signal`, which `blocks` these signals:
/// follows it if the thread is being traced, and says whether it does.
///
/// # Signal safety
/// As `Stepper::arrive`.
pub(super) fn follow(process: &'static Process, signal: i32, blocks: u64, saved: Saved<'_>) -> bool {
    let tid = raw::gettid();
    let Some(thread) = process.threads.find(tid) else { return false };
    let _ = thread.counter.stop(process, Taken::Anothers);
    thread.counter.again = None;
    let traced = thread.phase.is_traced() && !thread.nesting.is_full();
    let mut stepper = Stepper { process, thread, saved, tid };
    if traced {
        stepper.know_stack();
        stepper.begin_handler(signal, blocks);
    }
    traced
}

impl Stepper<'_> {
    fn begin_handler(&mut self, signal: i32, blocks: u64) {
        let slot = self.saved.rsp();
        let mut return_address = [0; 8];
        let _ = self.process.memory().read(RuntimeAddr(slot), &mut return_address);
        let returns_to = RuntimeAddr(u64::from_le_bytes(return_address));
        let interrupted = self.interrupted_under(slot);
        let known = self.thread.set_out.take().filter(|before| before.rip == interrupted.rip);
        let narrow = std::mem::take(&mut self.thread.narrow);
        let set_out =
            if self.thread.phase == Phase::Stepping && !narrow { self.settle(&interrupted) } else { None };
        let set_out = set_out.or(known);
        if let Phase::Restartable(_) = self.thread.phase {
            self.end_section();
            self.thread.phase = Phase::Stepping;
        }
        let phase = self.thread.phase;
        if phase == Phase::Stepping && is_fault(signal) && self.saved.sent_by_kernel() {
            self.mark(&Marker::Fault { signal: signal as u32, address: interrupted.rip });
        }
        // A native stretch of the handler's would lift it at its end.
        let landing = self.thread.exit.at();
        self.thread.exit.lift();
        let blocked = self.thread.blocked_by_program;
        self.thread.blocked_by_program = blocked | blocks & self.process.signals.owned();
        self.thread.nesting.push(Interruption {
            slot,
            returns_to,
            frames: self.thread.frames.used(),
            interrupted,
            phase,
            set_out,
            sliding: self.thread.sliding.take(),
            blocked,
            expected: self.thread.expected,
            landing,
            passed: self.thread.passed,
        });
        self.thread.frames.push(Frame { slot, returns_to });
        let handler = self.saved.rip();
        self.mark(&Marker::Signal { number: signal as u32, handler });
        if self.thread.phase == Phase::Muted {
            return;
        }
        (self.thread.trap_flag, self.thread.program_trap_flag) = (false, false);
        self.continue_here(Verdict::Exact);
    }

    /// What the handler whose frame is at `slot` has interrupted. That may be the wrapper of another handler: of two
    /// signals that come at once, the first one's frame is what the second one's interrupts.
    fn interrupted_under(&self, slot: u64) -> Registers {
        // SAFETY: the kernel has just built the frame, or it was copied whole.
        let mut frame = Saved::new(unsafe { context(slot + RETURN_ADDRESS) });
        loop {
            self.process.patches.bring_home(&mut frame);
            let registers = frame.registers(self.thread.hides_trap_flag());
            let outer = registers.general[RSP] + RETURN_ADDRESS;
            let begins = wrapper::contains(registers.rip);
            if let Some(under) = begins.then(|| signal_frame::frame(outer, &self.process.memory())).flatten()
            {
                frame = under;
                continue;
            }
            if self.thread.trap_flag || self.thread.stepping_over.is_some() {
                frame.set_flag(flag::TF, self.thread.program_trap_flag);
            }
            return registers;
        }
    }

    /// A signal has come while rows were pending: writes those that had retired. The registers that a repeated
    /// string instruction, still unfinished, had set out with.
    pub(super) fn settle(&mut self, interrupted: &Registers) -> Option<Registers> {
        let begins_slide = self.thread.sliding.is_some_and(|slide| slide.begins_at(interrupted.rip));
        let rows = self.thread.pending.rows();
        let unfinished = rows.iter().position(|row| row.fetched.address() == interrupted.rip);
        let repeats =
            unfinished == Some(0) && rows.first().is_some_and(|row| row.fetched.class == Class::RepString);
        let set_out = repeats.then_some(self.thread.registers);
        let retired = match unfinished {
            Some(before) => before,
            None if rows.last().is_some_and(|row| row.next == interrupted.rip) => rows.len(),
            // Behind another handler, nothing has run yet.
            None if rows.is_empty() && self.thread.expected == interrupted.rip => 0,
            // Nor has what leaves scope, which has its row.
            None if rows.is_empty() && begins_slide => 0,
            None => {
                self.note_lost(LostReason::Resumed);
                0
            }
        };
        // The frame of a call that has not been made is on the shadow stack already; where a slide begins, it stays there.
        if !begins_slide
            && self.thread.pending.rows().iter().skip(retired).any(|row| pushed_by(&row.fetched).is_some())
        {
            self.thread.frames.truncate(self.thread.frames.used().saturating_sub(1));
        }
        self.thread.pending.truncate(retired);
        if retired > 0 {
            match self.write_rows(interrupted) {
                Ok(()) => self.note_child(interrupted.general[RAX]),
                Err(_) => self.mute(LostReason::NoRoom, 0),
            }
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
        if !followed {
            return false;
        }
        let Some(frame) = frame(at, &self.process.memory()) else { return false };
        let Some(interruption) = self.thread.nesting.pop() else { return false };
        self.mark(&Marker::Sigreturn);
        if self.thread.phase != Phase::Muted {
            self.go_back(&interruption, frame);
            // On the way back every signal is blocked, and a trap would kill.
            self.saved.set_flag(flag::TF, false);
        }
        true
    }

    /// Out of a handler: to what it interrupted, as `frame` has it by now.
    fn go_back(&mut self, interruption: &Interruption, mut frame: Saved<'_>) {
        self.thread.frames.truncate(interruption.frames);
        self.thread.passed = interruption.passed;
        let owned = self.process.signals.owned();
        self.shut_until_sigreturn();
        // Nor may it meet a patch that another thread places there: with its signal blocked, that kills.
        if self.calls_sigreturn(self.saved.rip()) {
            self.saved.go_to(sigaction::restorer_address());
        }
        self.process.believe(self.thread, self.tid, interruption.blocked);
        frame.set_mask(frame.mask() & !owned);
        self.thread.pending.clear();
        self.process.patches.bring_home(&mut frame);
        let resumed = frame.rip();
        self.thread.sliding = interruption.sliding;
        if wrapper::contains(resumed) && interruption.phase != Phase::Native {
            // It traps, and finds everything as this handler did.
            self.thread.phase = interruption.phase;
            self.thread.expected = interruption.interrupted.rip;
            self.thread.set_out = interruption.set_out;
            return;
        }
        let stepping = interruption.phase != Phase::Native && self.stays_in_scope(resumed);
        self.thread.set_out = interruption.set_out.filter(|before| stepping && before.rip == resumed);
        self.thread.phase = if stepping { Phase::Stepping } else { Phase::Native };
        if stepping && self.process.settings.engine == Engine::TrapFlag {
            self.pass_standing();
            return self.resume(frame);
        }
        let stop = match self.thread.frames.top() {
            _ if stepping => resumed,
            Some(_) if interruption.phase == Phase::Native => interruption.expected,
            Some(top) => top.returns_to,
            None => return self.end(),
        };
        if let Some(landing) = interruption.landing.filter(|_| !stepping) {
            let _ = self.thread.exit.place(landing, self.process.fasync_signal);
        }
        if stop == resumed {
            // A leftover of a fault would hide the stop (kernel-facts 20).
            frame.set_flag(flag::RF, false);
        }
        self.await_stop(stop, true);
    }

    /// Whatever comes until rt_sigreturn has been made finds the interrupted code, and not the way back to it, where a trap
    /// of the tracer's may be blocked. The third door stays open.
    pub(super) fn shut_until_sigreturn(&mut self) {
        self.saved.set_mask(!mask_bit(libc::SIGSYS));
    }

    /// Control is as good as where `frame` says, where stepping goes on: TF comes into force there with the frame. A
    /// breakpoint would do as well, but as a patch may have to be lifted there, and then stops no other thread.
    fn resume(&mut self, frame: Saved<'_>) {
        self.thread.expected = frame.rip();
        // The tracer's own was taken out of the frame when the handler began.
        (self.thread.trap_flag, self.thread.program_trap_flag) = (false, frame.has_flag(flag::TF));
        let mut resumed =
            Stepper { process: self.process, thread: &mut *self.thread, saved: frame, tid: self.tid };
        resumed.know_stack();
        resumed.prove(Verdict::Exact);
    }

    /// Whether the code at `at` does nothing but call rt_sigreturn, as the C libraries' restorers do.
    fn calls_sigreturn(&self, at: RuntimeAddr) -> bool {
        let (mut code, length) = displaced::code_at(at, self.process.memory());
        let code = code.get_mut(..length).unwrap_or(&mut []);
        self.process.patches.hide(at, code, self.process.memory());
        let calls = self.saved.registers(false).general[RAX] == libc::SYS_rt_sigreturn as u64;
        calls && code.starts_with(&SYSCALL) || RESTORERS.iter().any(|restorer| code.starts_with(restorer))
    }

    /// Forgets the handlers that were left without a return.
    pub(super) fn forget_left_handlers(&mut self) {
        let rsp = self.saved.rsp();
        while let Some(left) = self.thread.nesting.left(rsp, self.thread.bounds) {
            let (frames, blocked) = (left.frames, left.blocked);
            self.thread.nesting.pop();
            self.thread.frames.truncate(frames);
            self.process.believe(self.thread, self.tid, blocked);
        }
    }
}

/// Signals that an instruction raises.
fn is_fault(signal: i32) -> bool {
    matches!(signal, libc::SIGSEGV | libc::SIGBUS | libc::SIGFPE | libc::SIGILL)
}
