//! From one stop to the next: write what the last stretch proved, then work out what must come.

#![allow(unsafe_code, reason = "one byte of the program's stack is corrected")]

use std::sync::atomic::Ordering;

use iced_x86::Mnemonic;

use super::code::{Fetched, NoInstruction, name_target};
use super::doors::enters_seccomp;
use super::frames::Frame;
use super::narrow::USER32_CS;
use super::operands;
use super::pending::PendingRow;
use super::perf::Hits;
use super::proc_file;
use super::process::Process;
use super::saved::Saved;
use super::stack::bounds_of;
use super::system_call::Prospect;
use super::thread::{Phase, Thread};
use crate::address::RuntimeAddr;
use crate::image::class::Class;
use crate::image::successor::{Successor, Transfer, USER_CS, successor};
use crate::record::buffer::NoRoom;
use crate::record::control::{Delivery, Engine, StepMode};
use crate::record::marker::{LostReason, Marker};
use crate::record::step::{Access, RegisterChangeRef, Step, Syscall};
use crate::record::verdict::Verdict;
use crate::registers::{RAX, RCX, RDI, RSP, Registers, flag};

/// One signal's worth of work on one thread.
pub(super) struct Stepper<'a> {
    pub(super) process: &'static Process,
    pub(super) thread: &'a mut Thread,
    pub(super) saved: Saved<'a>,
    pub(super) tid: u32,
}

impl Stepper<'_> {
    /// Starts a traced call at the function's first instruction.
    pub(super) fn enter(&mut self, call: u64, function: u32) {
        let registers = self.saved.registers(false);
        self.thread.registers = registers;
        self.thread.rows = 0;
        self.thread.count_call();
        self.thread.counter.start();
        let begun = self.thread.writer.begin_call(&self.process.buffer, self.tid, call, function, &registers);
        if begun.is_err() {
            return self.mute(LostReason::NoRoom, 0);
        }
        if let Some(outermost) = self.thread.frames.outermost() {
            if self.process.settings.engine == Engine::Breakpoint {
                // Of the debug registers that are left, the first is the step's: where it goes is decided below.
                let _ = self.thread.step.place(outermost.returns_to, self.process.fasync_signal);
            }
            // Without a guard (ENOSPC) a lost stepper is found at the next entry instead.
            let _ = self.thread.guard.place(outermost.returns_to, self.process.fasync_signal);
        }
        self.arrive(Verdict::Exact);
    }

    /// Control is in scope, at an instruction that gets a row: works out what must come after it.
    pub(super) fn arrive(&mut self, verdict: Verdict) {
        let registers = self.saved.registers(self.thread.hides_trap_flag());
        self.thread.registers = self.thread.set_out.take().unwrap_or(registers);
        if self.is_at_restorer(&registers) && !self.process.image().in_scope(registers.rip) {
            self.end_handler();
            return;
        }
        if self.thread.rows >= self.process.settings.max_steps {
            return self.mute(LostReason::Limit, self.process.settings.max_steps);
        }
        if self.saved.code_segment() == USER32_CS {
            return self.begin_narrow(registers.rip);
        }
        if self.saved.code_segment() != USER_CS {
            return self.mute(LostReason::Undecodable, u64::from(self.saved.code_segment()));
        }
        self.thread.phase = Phase::Stepping;
        self.thread.pending.start(verdict);
        if self.settle_slide(&registers) {
            return;
        }
        let fetched = match self.fetch(registers.rip) {
            Ok(fetched) => fetched,
            Err(NoInstruction::NoRoom) => return self.mute(LostReason::NoRoom, 0),
            Err(NoInstruction::Undecodable) => return self.fault(libc::SIGILL as u32, registers.rip),
        };
        if self.process.settings.memory && self.thread.sliding.is_none() {
            self.thread.pending.operands =
                operands::before(&fetched.instruction, &registers, self.process.memory());
        }
        if fetched.class == Class::Syscall && fetched.instruction.mnemonic() == Mnemonic::Syscall {
            if enters_seccomp(&registers) {
                self.finish_row(fetched, fetched.fall_through());
                return self.stand_down();
            }
            if let Some(result) = self.answer(&registers) {
                return self.finish_syscall(fetched, result);
            }
            match self.prepare_stepped(&registers) {
                Prospect::Returns => {}
                prospect => return self.make_last_call(fetched, &registers, prospect),
            }
        }
        let memory = self.process.memory();
        match successor(&fetched.instruction, &registers, &memory) {
            Successor::One(next) | Successor::Far { to: next, selector: USER_CS } => {
                self.predict(fetched, &registers, self.perhaps_wrong(next));
            }
            Successor::Far { to, selector: USER32_CS } => {
                self.finish_row(fetched, to);
                self.begin_narrow(to);
            }
            Successor::Far { to, selector } => {
                self.finish_row(fetched, to);
                self.mute(LostReason::Undecodable, u64::from(selector));
            }
            Successor::Transfers(Transfer::Exit) => {
                self.finish_row(fetched, fetched.fall_through());
                self.mark(&Marker::Exit { status: registers.general[RDI] as u32 });
                self.run_on();
                self.thread.dispatch.pass();
            }
            Successor::Transfers(Transfer::Sigreturn) => {
                self.finish_row(fetched, fetched.fall_through());
                if !self.end_handler() {
                    self.mark(&Marker::Sigreturn);
                    self.run_on();
                }
            }
            Successor::Transfers(Transfer::Sysenter | Transfer::UserInterrupt) => {
                self.mute(LostReason::Undecodable, 0);
            }
            Successor::Faults => {
                // Breakpoint instructions retire: their trap comes behind them.
                if is_breakpoint(&fetched) {
                    self.finish_row(fetched, fetched.fall_through());
                }
                self.fault(fault_signal(&fetched), fetched.address());
            }
            Successor::Unreadable => self.fault(libc::SIGSEGV as u32, fetched.address()),
        }
    }

    /// A system call from which control hardly comes back, so that its row is written before: if it does, stepping
    /// goes on behind it.
    fn make_last_call(&mut self, fetched: Fetched, registers: &Registers, prospect: Prospect) {
        self.finish_row(fetched, fetched.fall_through());
        if prospect == Prospect::Exec {
            self.prepare_exec(registers);
        }
        if self.thread.phase != Phase::Muted {
            self.await_behind(&fetched, fetched.fall_through());
        }
    }

    /// A system call that was answered without the kernel: its row, and control behind it.
    fn finish_syscall(&mut self, fetched: Fetched, result: u64) {
        let next = fetched.fall_through();
        self.saved.finish_syscall(result, next, self.thread.hides_trap_flag());
        let depth = self.thread.frames.depth().max(0);
        self.thread.pending.push(PendingRow { fetched, next, depth });
        self.go_on();
    }

    /// What the pending row's instruction does has been done here: control is behind it.
    fn go_on(&mut self) {
        let after = self.saved.registers(self.thread.hides_trap_flag());
        match self.write_rows(&after) {
            Ok(()) => self.arrive(Verdict::Reconstructed),
            Err(_) => self.mute(LostReason::NoRoom, 0),
        }
    }

    /// The test hook of a wrong prediction (design, section 2, "The return guard").
    fn perhaps_wrong(&self, next: RuntimeAddr) -> RuntimeAddr {
        let wrong = self.process.mispredict_at != 0 && self.thread.rows + 1 == self.process.mispredict_at;
        if wrong { next.plus(1) } else { next }
    }

    /// `first` is at the stop and goes to `next`: extends the run as far as one stop can prove it, and arms.
    fn predict(&mut self, first: Fetched, registers: &Registers, next: RuntimeAddr) {
        let depth = self.thread.frames.depth().max(0);
        let mut rsp = registers.general[RSP];
        let leaves_call = first.class == Class::Return
            && depth == 0
            && self.thread.frames.top().is_some_and(|top| top.slot == rsp);
        self.note_call(&first, rsp);
        self.note_jumper(&first, next);
        self.note_transfer(first.class);
        // Code of the tracer's own must not be stepped: a function that the agent stands in front of returns, or
        // crosses to a jumping one.
        if self.thread.sliding.is_some() && self.process.own_text.is_some_and(|own| own.contains(next)) {
            return self.run_on();
        }
        rsp = rsp_after(&first, rsp);
        let to_restorer = first.class == Class::Return
            && self.thread.nesting.top().is_some_and(|handler| handler.slot == registers.general[RSP]);
        if !leaves_call && !to_restorer && !self.stays_in_scope(next) {
            return self.leave_scope(first, depth, next);
        }
        if let Some(section) = self.process.image().section_at(next).filter(|_| !leaves_call) {
            return self.run_section(first, depth, section);
        }
        self.thread.pending.push(PendingRow { fetched: first, next, depth });
        if awaits_binding(&first, next) && proc_file::threads().is_some_and(|threads| threads > 1) {
            // Another thread may bind the slot before the jump has read it.
            self.saved.go_to(next);
            return self.go_on();
        }
        let stop =
            if leaves_call || to_restorer { Some(next) } else { self.walk(&first, registers, next, rsp) };
        match stop {
            Some(stop) => {
                let counts = self.process.settings.engine == Engine::Instructions;
                if !counts && needs_breakpoint(first.class) {
                    self.await_behind(&first, stop);
                } else {
                    self.await_stop(stop, false);
                }
            }
            None => self.mute(LostReason::NoRoom, 0),
        }
    }

    pub(super) fn stays_in_scope(&self, address: RuntimeAddr) -> bool {
        self.thread.sliding.is_some()
            || self.process.image().in_scope(address)
            || self.process.function_at(address).is_some()
    }

    /// Reads on in the image from `at`, where control comes after `previous`, to where the next stop must be.
    /// Instruction stepping stops at once, but for the shadow of a load of ss. `None`: no room in the trace.
    fn walk(
        &mut self,
        previous: &Fetched,
        registers: &Registers,
        at: RuntimeAddr,
        rsp: u64,
    ) -> Option<RuntimeAddr> {
        let blocks = self.process.settings.step == StepMode::Block && self.thread.sliding.is_none();
        let mut previous = *previous;
        let (mut at, mut rsp) = (at, rsp);
        let mut may_pass = blocks && !self.must_be_seen_behind(&previous);
        loop {
            let shadow = previous.class == Class::LoadsSs;
            let standing = self.process.function_at(at).is_some() || self.thread.guard.at() == Some(at);
            let planned = self.thread.rows.saturating_add(self.thread.pending.rows().len() as u64);
            if !shadow && (!may_pass || standing || planned >= self.process.settings.max_steps) {
                return Some(at);
            }
            let fetched = match self.fetch(at) {
                Ok(fetched) => fetched,
                Err(NoInstruction::NoRoom) => return None,
                // The CPU faults here: the stop before it is as good as any.
                Err(NoInstruction::Undecodable) => return Some(at),
            };
            let next = if shadow {
                // A load of ss changes nothing that a successor depends on, but for rsp in `pop ss`.
                let mut here = *registers;
                here.rip = at;
                here.general[RSP] = rsp;
                match successor(&fetched.instruction, &here, &self.process.memory()) {
                    Successor::One(next) => next,
                    _ => return Some(at),
                }
            } else if fetched.class.ends_block() || fetched.class == Class::Cpuid {
                return Some(at);
            } else {
                fetched.fall_through()
            };
            if !self.stays_in_scope(next) || self.process.image().section_at(next).is_some() {
                return Some(at);
            }
            if shadow {
                self.note_call(&fetched, rsp);
            }
            self.thread.frames.pop_above(rsp, self.thread.bounds);
            let depth = self.thread.frames.depth();
            if depth < 0 || !self.thread.pending.push(PendingRow { fetched, next, depth }) {
                return Some(at);
            }
            rsp = rsp_after(&fetched, rsp);
            may_pass = blocks && stack_movement(&fetched).is_some();
            previous = fetched;
            at = next;
        }
    }

    /// Whether the row needs the state right behind its instruction: what the kernel returned, how far a repeated
    /// string instruction came, what was written to memory.
    fn must_be_seen_behind(&self, first: &Fetched) -> bool {
        let mut operands = self.thread.pending.operands.iter().flatten();
        matches!(first.class, Class::Syscall | Class::RepString)
            || operands.any(|operand| operand.access != Access::Read)
    }

    /// Puts a call's frame on the shadow stack, where the one that began a slide is already.
    pub(super) fn note_call(&mut self, fetched: &Fetched, rsp: u64) {
        if self.thread.sliding.is_some_and(|slide| slide.begins_at(fetched.address())) {
            return;
        }
        let Some(pushed) = pushed_by(fetched) else { return };
        self.thread.frames.push(Frame { slot: rsp.wrapping_sub(pushed), returns_to: fetched.fall_through() });
    }

    /// `last` takes control out of scope, to run natively until the top frame returns.
    fn leave_scope(&mut self, last: Fetched, depth: i32, target: RuntimeAddr) {
        let written = self.write_foretold(last, depth, target);
        if written.and_then(|()| name_target(self.process, self.tid, target)).is_err() {
            return self.mute(LostReason::NoRoom, 0);
        }
        if self.leaves_for_good(target) {
            return self.begin_slide(target, Some(last));
        }
        self.thread.frames.pop_above(self.thread.registers.general[RSP], self.thread.bounds);
        self.go_native(target);
    }

    /// Writes the row of an instruction before it runs, since what it starts may never come back: a branch, or a
    /// store.
    pub(super) fn write_foretold(
        &mut self,
        last: Fetched,
        depth: i32,
        next: RuntimeAddr,
    ) -> Result<(), NoRoom> {
        let before = self.thread.registers;
        let mut after = before;
        after.rip = next;
        after.general[RSP] = rsp_after(&last, before.general[RSP]);
        operands::foretell(&mut self.thread.pending.operands, &last.instruction, &before);
        self.thread.pending.push(PendingRow { fetched: last, next, depth });
        self.write(&after, false)?;
        self.thread.registers = after;
        Ok(())
    }

    /// Leaves the thread alone until control comes back to the top frame's return address.
    pub(super) fn go_native(&mut self, target: RuntimeAddr) {
        let Some(top) = self.thread.frames.top() else { return self.end() };
        self.mark(&Marker::Native { target, resume: top.returns_to });
        if self.thread.phase == Phase::Muted {
            return;
        }
        self.thread.phase = Phase::Native;
        self.await_stop(top.returns_to, true);
    }

    /// The kernel, or a handler of the program, decides what comes; the top frame's return is the next sure stop.
    pub(super) fn run_on(&mut self) {
        self.thread.pending.clear();
        if let Some(top) = self.thread.frames.top()
            && self.thread.phase != Phase::Muted
        {
            self.thread.phase = Phase::Native;
            self.await_stop(top.returns_to, true);
        }
    }

    /// The instruction will not retire: it raises `signal`.
    fn fault(&mut self, signal: u32, address: RuntimeAddr) {
        self.mark(&Marker::Fault { signal, address });
        self.run_on();
        if self.thread.phase == Phase::Native {
            self.thread.phase = Phase::Faulting;
        }
    }

    /// Writes the row of an instruction that nothing later can prove.
    fn finish_row(&mut self, fetched: Fetched, next: RuntimeAddr) {
        let depth = self.thread.frames.depth().max(0);
        self.thread.pending.push(PendingRow { fetched, next, depth });
        let registers = self.thread.registers;
        if self.write_rows(&registers).is_err() {
            self.mute(LostReason::NoRoom, 0);
        }
    }

    /// Control came where it had to: the pending rows have retired.
    pub(super) fn prove(&mut self, verdict: Verdict) {
        self.unshield();
        let registers = self.saved.registers(self.thread.hides_trap_flag());
        let native = matches!(self.thread.phase, Phase::Native | Phase::Faulting | Phase::Restartable(_));
        match self.thread.phase {
            Phase::Restartable(_) => self.end_section(),
            // An unwinder's landing that was awaited has come, or never will.
            Phase::Native => self.thread.exit.lift(),
            _ => {}
        }
        self.thread.frames.pop_above(registers.general[RSP], self.thread.bounds);
        let written = if native {
            self.thread.writer.sync(&self.process.buffer, &self.thread.set_out.unwrap_or(registers))
        } else {
            self.write_rows(&registers)
        };
        if written.is_err() {
            return self.mute(LostReason::NoRoom, 0);
        }
        self.note_child(registers.general[RAX]);
        if self.thread.frames.is_empty() {
            return self.leave();
        }
        // A stop may have been passed, and with it a call out of scope.
        let stays = self.stays_in_scope(registers.rip) || self.is_at_restorer(&registers);
        if self.process.settings.engine == Engine::Instructions && !stays {
            if self.process.image().is_jumper(registers.rip) {
                self.thread.registers = registers;
                return self.begin_slide(registers.rip, None);
            }
            return self.run_natively(registers);
        }
        self.arrive(verdict);
    }

    /// Control has left the scope already.
    pub(super) fn run_natively(&mut self, registers: Registers) {
        self.thread.registers = registers;
        let _ = name_target(self.process, self.tid, registers.rip);
        self.go_native(registers.rip);
    }

    /// `pushf` has stored the TF that is ours: takes it out of the program's stack.
    fn hide_trap_flag(&mut self, rsp: u64) {
        let pushed = self.thread.pending.rows().last().is_some_and(|row| row.fetched.class == Class::Pushf);
        if self.thread.hides_trap_flag() && pushed {
            // TF is bit 8 of the value, whatever its size.
            let byte = (rsp.wrapping_add(1)) as *mut u8;
            // SAFETY: the CPU has just written there, on the program's stack, and the program does not run.
            unsafe { byte.write_volatile(byte.read_volatile() & !1) };
        }
    }

    /// Writes all pending rows, `after` being the registers behind the last of them.
    pub(super) fn write_rows(&mut self, after: &Registers) -> Result<(), NoRoom> {
        self.hide_trap_flag(after.general[RSP]);
        self.write(after, true)
    }

    /// The same; where nothing has `retired` yet, memory has still what it had.
    fn write(&mut self, after: &Registers, retired: bool) -> Result<(), NoRoom> {
        if self.thread.sliding.is_some() {
            self.thread.pending.clear();
            return Ok(());
        }
        let settings = &self.process.settings;
        let thread = &mut *self.thread;
        let alone = thread.pending.rows().len() == 1;
        let before = thread.registers;
        // Behind a load of ss the registers are known without a stop.
        let mut between = before;
        if let Some(first) = thread.pending.rows().first() {
            between.rip = first.next;
            between.general[RSP] = rsp_after(&first.fetched, before.general[RSP]);
        }
        let shadow = thread.pending.rows().first().is_some_and(|row| row.fetched.class == Class::LoadsSs);
        let pair = shadow && thread.pending.rows().len() == 2;
        if alone && retired {
            operands::after(&mut thread.pending.operands, self.process.memory());
        }
        let mut memory = [operands::NONE; super::pending::MOST_OPERANDS];
        let mut used = 0;
        for (to, from) in memory.iter_mut().zip(thread.pending.operands.iter().flatten()) {
            *to = *from;
            used += 1;
        }
        for (index, row) in thread.pending.rows().iter().enumerate() {
            let first = index == 0;
            let registers = match (settings.registers, first) {
                (true, true) if alone => Some(RegisterChangeRef { before: &before, after }),
                (true, true) if pair => Some(RegisterChangeRef { before: &before, after: &between }),
                (true, false) if pair => Some(RegisterChangeRef { before: &between, after }),
                _ => None,
            };
            let syscall = Syscall {
                number: before.general[RAX],
                arguments: before.syscall_arguments(),
                result: after.general[RAX],
            };
            let step = Step {
                address: row.fetched.address(),
                verdict: if first { thread.pending.verdict } else { Verdict::Reconstructed },
                next: row.next,
                registers,
                count: (first && alone && row.fetched.class == Class::RepString)
                    .then(|| iterations(&row.fetched, &before, after)),
                memory: if first { memory.get(..used).unwrap_or(&[]) } else { &[] },
                bytes: row.fetched.own_bytes(),
                depth: row.depth.max(0) as u32,
                syscall: (first && alone && row.fetched.class == Class::Syscall).then_some(&syscall),
            };
            thread.writer.step(&self.process.buffer, &step)?;
            thread.rows += 1;
        }
        if settings.registers && !alone && !pair {
            thread.writer.sync(&self.process.buffer, after)?;
        }
        thread.pending.clear();
        Ok(())
    }

    pub(super) fn mark(&mut self, marker: &Marker) {
        if self.thread.writer.marker(&self.process.buffer, marker).is_err() {
            self.mute(LostReason::NoRoom, 0);
        }
    }

    /// Arms for a stop at `stop`; `by_breakpoint` where the trap flag would see too much or too little.
    pub(super) fn await_stop(&mut self, stop: RuntimeAddr, by_breakpoint: bool) {
        self.thread.expected = stop;
        if self.process.settings.engine == Engine::Instructions && !by_breakpoint {
            if let Err(errno) = self.thread.counter.arm(self.process) {
                return self.mute(LostReason::Rearm, errno.0 as u64);
            }
            return self.pass_standing();
        }
        let by_trap_flag = self.process.settings.engine == Engine::TrapFlag && !by_breakpoint;
        self.thread.trap_flag = by_trap_flag;
        // One breakpoint to an address: which of two signals survives is undefined (design, section 2).
        let stands = self.process.function_at(stop).is_some() || self.thread.guard.at() == Some(stop);
        // A breakpoint that fired by fasync is stopped; one that fired by sigtrap still stands where it was.
        let spent = self.process.step_delivery() == Delivery::Fasync || self.thread.step.at() != Some(stop);
        if !by_trap_flag
            && !stands
            && spent
            && let Err(errno) = self.thread.step.place(stop, self.process.fasync_signal)
        {
            return self.mute(LostReason::Rearm, errno.0 as u64);
        }
        self.saved.set_flag(flag::TF, by_trap_flag || self.thread.program_trap_flag);
        self.pass_standing();
    }

    /// Arms for a stop at `stop`, behind `fetched`, which the trap flag sees too much or too little of. Where a patch would
    /// stand in for the breakpoint, a copy with one behind it is run instead: a patch would trap other threads too, and
    /// kill those that block every signal, as the C library does for moments.
    fn await_behind(&mut self, fetched: &Fetched, stop: RuntimeAddr) {
        let settings = &self.process.settings;
        let patches = settings.patch && settings.engine == Engine::TrapFlag;
        let here = fetched.address() == self.saved.rip() && fetched.fall_through() == stop;
        let copy = if patches && here {
            self.process.patches.stopping_copy(fetched.address(), self.process.memory(), self.process.vendor)
        } else {
            None
        };
        let Some(copy) = copy else { return self.await_stop(stop, true) };
        (self.thread.expected, self.thread.trap_flag) = (stop, false);
        self.saved.set_flag(flag::TF, self.thread.program_trap_flag);
        self.saved.set_flag(flag::RF, false);
        self.saved.go_to(copy);
    }

    /// Lets the instruction at RIP run even if a breakpoint stands there, and only then: a leftover RF would
    /// hide the next one (kernel-facts 20).
    pub(super) fn pass_standing(&mut self) {
        let rip = self.saved.rip();
        let here = (rip, self.saved.rsp());
        let patched = self.process.patches.stands_at(rip);
        if patched {
            if let Some(copy) = self.process.patches.copy_of(rip) {
                self.saved.go_to(copy);
            } else {
                self.process.patches.step_over(rip, self.process.memory());
                self.thread.stepping_over = Some(rip);
                self.saved.set_flag(flag::TF, true);
            }
        }
        let stands = self.process.function_at(rip).is_some()
            || self.thread.guard.at() == Some(rip)
            || self.thread.exit.at() == Some(rip)
            || self.thread.step.at() == Some(rip);
        if stands || patched {
            self.thread.passed = Some(here);
        }
        self.saved.set_flag(flag::RF, stands);
    }

    /// The traced call returned, as expected.
    pub(super) fn leave(&mut self) {
        let rax = self.saved.registers(true).general[RAX];
        let xmm0 = self.saved.xmm0();
        self.mark(&Marker::Leave { rax, xmm0 });
        self.end();
    }

    /// The call is over: everything of ours is taken back.
    pub(super) fn end(&mut self) {
        self.compare_counts();
        self.thread.uncount_call();
        self.thread.counter.disarm();
        self.thread.step.lift();
        self.thread.exit.lift();
        self.thread.guard.lift();
        self.saved.set_flag(flag::TF, self.thread.program_trap_flag);
        self.thread.trap_flag = false;
        self.thread.frames.clear();
        self.thread.pending.clear();
        self.thread.phase = Phase::Idle;
        self.thread.passed = None;
        self.pass_standing();
    }

    /// The program is about to forbid the system calls that stepping needs: nothing of ours may fire any more.
    fn stand_down(&mut self) {
        self.mute(LostReason::Seccomp, 0);
        self.thread.close_events();
        self.process.close_triggers();
        self.pass_standing();
    }

    /// What the step event counted must be what its stops were: a hit that no handler saw is a lost row.
    fn compare_counts(&mut self) {
        let Some(Hits { counted, missing }) = self.thread.step.hits() else { return };
        let counters = self.process.buffer.counters();
        counters.step_hits.fetch_add(counted, Ordering::Relaxed);
        counters.stops.fetch_add(counted.wrapping_sub(missing), Ordering::Relaxed);
        if missing != 0 {
            let found = self.saved.rip();
            let lost =
                Marker::Lost { reason: LostReason::Uncounted, expected: found, found, detail: missing };
            let _ = self.thread.writer.marker(&self.process.buffer, &lost);
        }
    }

    /// Steps of this call are missing from here on; only its end is awaited, and the program runs on.
    pub(super) fn mute(&mut self, reason: LostReason, detail: u64) {
        self.note_lost_rows(reason, detail);
        self.thread.phase = Phase::Muted;
        self.thread.pending.clear();
        self.thread.counter.disarm();
        self.thread.step.lift();
        self.thread.trap_flag = false;
        self.saved.set_flag(flag::TF, self.thread.program_trap_flag);
        self.pass_standing();
    }

    /// The stack mapping that RSP is in now.
    pub(super) fn know_stack(&mut self) {
        let rsp = self.saved.rsp();
        if !self.thread.bounds.contains(rsp) {
            self.thread.bounds = bounds_of(rsp);
        }
        self.forget_left_handlers();
    }
}

/// Whether the jump goes through a PLT slot that is not bound yet: it leads to what asks the dynamic linker, right behind.
fn awaits_binding(fetched: &Fetched, next: RuntimeAddr) -> bool {
    fetched.class == Class::Jump { indirect: true } && next == fetched.fall_through()
}

/// Bytes that a call pushes; `None` for what is no call.
pub(super) fn pushed_by(fetched: &Fetched) -> Option<u64> {
    let instruction = &fetched.instruction;
    match fetched.class {
        Class::Call { .. } => Some(8),
        Class::Far if instruction.is_call_far() || instruction.is_call_far_indirect() => Some(16),
        _ => None,
    }
}

/// RSP behind the instruction, as far as its encoding says.
pub(super) fn rsp_after(fetched: &Fetched, rsp: u64) -> u64 {
    rsp.wrapping_add(stack_movement(fetched).unwrap_or(0))
}

/// What the instruction adds to RSP. `None` where its encoding does not say it: `leave`, `mov rsp, …`, `and rsp, …`.
pub(super) fn stack_movement(fetched: &Fetched) -> Option<u64> {
    use iced_x86::{OpKind, Register};
    let instruction = &fetched.instruction;
    let constant = match instruction.op1_kind() {
        OpKind::Immediate8to64 => Some(instruction.immediate8to64() as u64),
        OpKind::Immediate32to64 => Some(instruction.immediate32to64() as u64),
        _ => None,
    };
    let is_stack = |register| matches!(register, Register::RSP | Register::ESP | Register::SP);
    let whole = instruction.op0_register() == Register::RSP;
    match instruction.mnemonic() {
        Mnemonic::Leave | Mnemonic::Enter => None,
        Mnemonic::Add if whole => constant,
        Mnemonic::Sub if whole => constant.map(u64::wrapping_neg),
        Mnemonic::Lea if whole => {
            let from_itself =
                instruction.memory_base() == Register::RSP && instruction.memory_index() == Register::None;
            from_itself.then(|| instruction.memory_displacement64())
        }
        Mnemonic::Push | Mnemonic::Cmp | Mnemonic::Test => Some(encoded_movement(fetched)),
        Mnemonic::Xchg | Mnemonic::Xadd if is_stack(instruction.op1_register()) => None,
        _ if is_stack(instruction.op0_register()) => None,
        _ => Some(encoded_movement(fetched)),
    }
}

/// Of pushes, pops, calls and returns.
fn encoded_movement(fetched: &Fetched) -> u64 {
    i64::from(fetched.instruction.stack_pointer_increment()) as u64
}

/// Where a single-step trap comes too often (`rep`) or one instruction late (`syscall`, and what the kernel emulates).
fn needs_breakpoint(class: Class) -> bool {
    matches!(class, Class::RepString | Class::Syscall | Class::DescriptorStore)
}

/// `int3`, `int 3` and `icebp`.
fn is_breakpoint(fetched: &Fetched) -> bool {
    match fetched.instruction.mnemonic() {
        Mnemonic::Int3 | Mnemonic::Int1 => true,
        Mnemonic::Int => fetched.instruction.immediate8() == 3,
        _ => false,
    }
}

fn fault_signal(fetched: &Fetched) -> u32 {
    let signal = match fetched.instruction.mnemonic() {
        _ if is_breakpoint(fetched) => libc::SIGTRAP,
        Mnemonic::Ud0 | Mnemonic::Ud1 | Mnemonic::Ud2 => libc::SIGILL,
        _ => libc::SIGSEGV,
    };
    signal as u32
}

/// Iterations of a repeated string instruction: what its counter lost, which is rcx, or ecx under prefix 67.
fn iterations(fetched: &Fetched, before: &Registers, after: &Registers) -> u64 {
    let count = before.general[RCX].wrapping_sub(after.general[RCX]);
    if fetched.narrow_addresses() { count & 0xffff_ffff } else { count }
}
