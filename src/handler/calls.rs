//! Where calls of the traced functions begin: which are counted, which are traced.

use std::sync::atomic::Ordering;

use super::frames::Frame;
use super::pending::PendingRow;
use super::process::Process;
use super::stepper::{Stepper, pushed_by};
use super::thread::Phase;
use crate::address::RuntimeAddr;
use crate::image::memory::Memory;
use crate::raw;
use crate::record::marker::LostReason;
use crate::record::verdict::Verdict;

/// Whether this process is the one to trace: the first of its tree to enter.
pub(super) fn is_traced_process(process: &Process, tid: u32) -> bool {
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
pub(super) fn enter(mut stepper: Stepper<'_>) {
    let process = stepper.process;
    let rsp = stepper.saved.rsp();
    let mut return_address = [0; 8];
    // Unreadable only if the program is about to fault on its own stack.
    let _ = process.memory().read(RuntimeAddr(rsp), &mut return_address);
    let frame = Frame { slot: rsp, returns_to: RuntimeAddr(u64::from_le_bytes(return_address)) };
    let function = process.function_at(stepper.saved.rip());
    let loops = function.is_some_and(|function| function.loops);
    if loops && stepper.comes_round(frame) {
        process.progress.note_hit_again();
        return stepper.pass_standing();
    }
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
    let Some(function) = function.filter(|_| wanted) else {
        stepper.thread.phase = if awaited || loops { stepper.pass_by(frame) } else { Phase::Idle };
        return stepper.pass_standing();
    };
    stepper.enter(call, function.pattern);
}

impl Stepper<'_> {
    /// Whether the pending rows lead into the function at RIP from outside, or by a call.
    pub(super) fn is_called(&self) -> bool {
        let Some(function) = self.process.function_at(self.saved.rip()) else { return false };
        let leads = |last: &PendingRow| {
            pushed_by(&last.fetched).is_some() || !function.code.contains(last.fetched.address())
        };
        self.thread.pending.rows().last().is_some_and(leads)
    }

    /// Whether an untraced call of a function that loops to its first instruction has come there again: nothing else leads
    /// there with the same frame before its return has been seen.
    fn comes_round(&self, frame: Frame) -> bool {
        let same = |outermost: Frame| {
            (outermost.slot, outermost.returns_to) == (frame.slot, frame.returns_to)
                && self.thread.guard.at() == Some(frame.returns_to)
        };
        matches!(self.thread.phase, Phase::Untraced | Phase::Muted)
            && self.thread.frames.outermost().is_some_and(same)
    }

    /// Whether RSP says that the outermost call has returned.
    pub(super) fn call_is_over(&self) -> bool {
        self.outermost_lies_below(self.saved.rsp())
    }

    /// The same at a function's first instruction, where a new call may reuse the old one's return slot.
    pub(super) fn call_is_over_at_entry(&self) -> bool {
        self.outermost_lies_below(self.saved.rsp().saturating_add(1))
    }

    fn outermost_lies_below(&self, end: u64) -> bool {
        let below = |outermost: Frame| self.thread.bounds.contains(outermost.slot) && outermost.slot < end;
        self.thread.frames.outermost().is_none_or(below)
    }

    /// A call that is not wanted. Before the first wanted one its end must be seen, or a later call from a deeper frame would
    /// look nested in it; and where it comes round to its entry, or each round would look like a call.
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
        let registers = self.saved.registers(self.thread.hides_trap_flag());
        let synced = self.thread.writer.sync(&self.process.buffer, &registers);
        self.thread.frames.pop_above(self.saved.rsp(), self.thread.bounds);
        self.thread.frames.push(frame);
        self.thread.pending.clear();
        match synced {
            Ok(()) => self.arrive(if lost { Verdict::Lost } else { Verdict::Exact }),
            Err(_) => self.mute(LostReason::NoRoom, 0),
        }
    }
}
