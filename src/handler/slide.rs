//! Calls that come back elsewhere: longjmp, contexts, unwinding. Out of scope they are stepped all the same, without
//! rows, until control is back in scope or the call is over.

use super::code::{Fetched, NoInstruction, fetch, peek};
use super::stepper::Stepper;
use super::thread::Phase;
use crate::address::RuntimeAddr;
use crate::image::class::Class;
use crate::record::marker::Marker;
use crate::registers::{RSP, Registers};

impl Stepper<'_> {
    /// `last` goes to `next`: remembers a call of a jumping function, which a PLT slot may still hide behind the
    /// dynamic linker.
    pub(super) fn note_jumper(&mut self, last: &Fetched, next: RuntimeAddr) {
        let transfers = matches!(last.class, Class::Call { .. } | Class::Jump { .. });
        if transfers
            && self.process.image().is_jumper(next)
            && let Some(top) = self.thread.frames.top()
        {
            self.thread.jump_slot = top.slot;
        }
    }

    /// Whether what control leaves scope for may come back elsewhere than behind the top frame's call.
    pub(super) fn leaves_for_good(&self, target: RuntimeAddr) -> bool {
        self.process.image().is_jumper(target)
            || self.thread.frames.top().is_some_and(|top| top.slot == self.thread.jump_slot)
    }

    /// Begins to step at `target`, out of scope, without rows.
    pub(super) fn begin_slide(&mut self, target: RuntimeAddr) {
        self.mark(&Marker::Native { target, resume: RuntimeAddr(0) });
        if self.thread.phase == Phase::Muted {
            return;
        }
        self.thread.jump_slot = 0;
        self.thread.sliding = Some(self.thread.registers.general[RSP]);
        self.thread.phase = Phase::Stepping;
        self.await_stop(target, false);
    }

    /// Control is at `registers`: ends the slide if it has come to rest. What is in scope but deeper, an unwinder's
    /// personality routine, is part of the way.
    pub(super) fn settle_slide(&mut self, registers: &Registers) {
        let Some(from) = self.thread.sliding else { return };
        let above = registers.general[RSP] > from || !self.thread.bounds.contains(from);
        if above && self.process.image().in_scope(registers.rip) {
            self.thread.sliding = None;
            let _ = self.thread.writer.sync(&self.process.buffer, registers);
        }
    }

    /// The instruction at `at`: recorded in the trace where it gets a row.
    pub(super) fn fetch(&self, at: RuntimeAddr) -> Result<Fetched, NoInstruction> {
        if self.thread.sliding.is_some() { peek(self.process, at) } else { fetch(self.process, self.tid, at) }
    }
}
