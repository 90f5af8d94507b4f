//! Calls that come back elsewhere: longjmp, contexts, unwinding. Out of scope they are stepped all the same, without
//! rows, until control is back in scope or the call is over.

use super::code::{Fetched, NoInstruction, fetch, peek};
use super::pending::PendingRow;
use super::stepper::Stepper;
use super::thread::Phase;
use crate::address::RuntimeAddr;
use crate::image::class::Class;
use crate::record::control::Engine;
use crate::record::marker::Marker;
use crate::registers::{RSP, Registers};

/// A slide that is under way.
#[derive(Clone, Copy)]
pub(super) struct Slide {
    /// RSP where control left scope: in scope above it, the slide is over.
    from: u64,
    /// RSP where native code called the jumping function: above it, the slide is over, too.
    called_at: Option<u64>,
    /// The instruction that takes control out of scope, whose row is written before it runs: a signal may come first.
    leaves_at: Option<RuntimeAddr>,
    /// The last instruction was a return or an indirect jump, as those are by which such functions end.
    transferred: bool,
}

impl Slide {
    /// Begun by native code that was called from scope, its return address at `from`.
    pub(super) const fn out_of_native(from: u64, called_at: u64) -> Self {
        Self { from, called_at: Some(called_at), leaves_at: None, transferred: false }
    }

    /// Whether the slide's first instruction, which has its row, has yet to run where control is `at`.
    pub(super) fn begins_at(&self, at: RuntimeAddr) -> bool {
        self.leaves_at == Some(at)
    }
}

impl Stepper<'_> {
    /// `last` goes to `next`: remembers a call of a jumping function, which a PLT slot may still hide behind the
    /// dynamic linker.
    pub(super) fn note_jumper(&mut self, last: &Fetched, next: RuntimeAddr) {
        let transfers = matches!(last.class, Class::Call { .. } | Class::Jump { .. });
        if transfers
            && self.thread.sliding.is_none()
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

    /// Begins to step at `target`, out of scope, without rows. What goes there, where that has yet to run, is `last`.
    pub(super) fn begin_slide(&mut self, target: RuntimeAddr, last: Option<Fetched>) {
        self.mark(&Marker::Native { target, resume: RuntimeAddr(0) });
        if self.thread.phase == Phase::Muted {
            return;
        }
        self.thread.jump_slot = 0;
        let from = self.thread.registers.general[RSP];
        let leaves_at = last.map(|last| last.address());
        self.thread.sliding = Some(Slide { from, called_at: None, leaves_at, transferred: false });
        self.thread.phase = Phase::Stepping;
        // The way of what a counter counts begins there, whose row is written already.
        if let Some(fetched) = last.filter(|_| self.process.settings.engine == Engine::Instructions) {
            let depth = self.thread.frames.depth().max(0);
            self.thread.pending.push(PendingRow { fetched, next: target, depth });
        }
        self.await_stop(target, false);
    }

    /// Remembers by what kind of instruction the slide goes on.
    pub(super) fn note_transfer(&mut self, class: Class) {
        if let Some(slide) = &mut self.thread.sliding {
            slide.leaves_at = None;
            slide.transferred = matches!(class, Class::Return | Class::Jump { indirect: true });
        }
    }

    /// Control is at `registers`: ends the slide if it has come to rest in scope. What is in scope but deeper, an
    /// unwinder's personality routine, is part of the way. `true` where it has come to rest in native code, which
    /// runs on.
    #[must_use]
    pub(super) fn settle_slide(&mut self, registers: &Registers) -> bool {
        let Some(slide) = self.thread.sliding else { return false };
        let above = |place| registers.general[RSP] > place || !self.thread.bounds.contains(place);
        let left = above(slide.from) && !slide.begins_at(registers.rip);
        if left && self.process.image().in_scope(registers.rip) {
            self.thread.sliding = None;
            let _ = self.thread.writer.sync(&self.process.buffer, registers);
            return false;
        }
        if !slide.transferred || !slide.called_at.is_some_and(above) {
            return false;
        }
        self.thread.sliding = None;
        self.run_on();
        true
    }

    /// The instruction at `at`: recorded in the trace where it gets a row.
    pub(super) fn fetch(&self, at: RuntimeAddr) -> Result<Fetched, NoInstruction> {
        if self.thread.sliding.is_some() { peek(self.process, at) } else { fetch(self.process, self.tid, at) }
    }
}
