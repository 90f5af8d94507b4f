//! Which of the program's signal handlers are running on top of a traced call, and what each interrupted.

use super::frames::StackBounds;
use super::slide::Slide;
use super::thread::Phase;
use crate::address::RuntimeAddr;
use crate::registers::Registers;

/// Handlers interrupting handlers that are followed; deeper ones run natively.
const CAPACITY: usize = 8;

/// One handler that has not returned yet.
#[derive(Clone, Copy)]
pub(super) struct Interruption {
    /// Where the handler's return address lies; the kernel's `ucontext_t` is right above.
    pub(super) slot: u64,
    /// The restorer, which calls rt_sigreturn.
    pub(super) returns_to: RuntimeAddr,
    /// Open frames when it came.
    pub(super) frames: usize,
    pub(super) interrupted: Registers,
    /// Where the thread stood: stepped code goes on being stepped.
    pub(super) phase: Phase,
    /// Registers from which the interrupted instruction, a repeated string instruction, had set out.
    pub(super) set_out: Option<Registers>,
    /// The slide that was under way.
    pub(super) sliding: Option<Slide>,
    /// Those of the tracer's signals that the program believed to block.
    pub(super) blocked: u64,
    /// Where the next stop was to be, and beside it where an unwinder was to land.
    pub(super) expected: RuntimeAddr,
    pub(super) landing: Option<RuntimeAddr>,
    /// The breakpoint that the interrupted code may be at still, or right behind.
    pub(super) passed: Option<(RuntimeAddr, u64)>,
}

/// The handlers that are running, innermost last. All zeros is none.
pub(super) struct Nesting {
    open: [Option<Interruption>; CAPACITY],
    used: usize,
}

impl Nesting {
    pub(super) const fn new() -> Self {
        Self { open: [None; CAPACITY], used: 0 }
    }

    pub(super) const fn is_full(&self) -> bool {
        self.used == CAPACITY
    }

    pub(super) fn push(&mut self, interruption: Interruption) {
        if let Some(place) = self.open.get_mut(self.used) {
            *place = Some(interruption);
            self.used += 1;
        }
    }

    pub(super) fn top(&self) -> Option<&Interruption> {
        self.open.get(self.used.checked_sub(1)?)?.as_ref()
    }

    pub(super) fn pop(&mut self) -> Option<Interruption> {
        self.used = self.used.checked_sub(1)?;
        self.open.get_mut(self.used)?.take()
    }

    pub(super) fn clear(&mut self) {
        while self.pop().is_some() {}
    }

    /// The innermost handler, if it was left without a return (siglongjmp): RSP is back above its frame, or on the
    /// stack that it interrupted.
    pub(super) fn left(&self, rsp: u64, bounds: StackBounds) -> Option<&Interruption> {
        self.top().filter(|handler| {
            if bounds.contains(handler.slot) {
                rsp > handler.slot + 8
            } else {
                bounds.contains(handler.interrupted.general[crate::registers::RSP])
            }
        })
    }
}
