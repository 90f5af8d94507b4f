//! The shadow stack: which calls are open, by the addresses of their return slots.

use crate::address::RuntimeAddr;

/// One open call: its return address lies at `slot`, and it is over once RSP is above the slot.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    pub(super) slot: u64,
    pub(super) returns_to: RuntimeAddr,
}

/// The stack mapping frames are compared in, `[start, end)`: RSP outside it ends no frame.
#[derive(Clone, Copy)]
pub(super) struct StackBounds {
    pub(super) start: u64,
    pub(super) end: u64,
}

impl StackBounds {
    pub(super) fn contains(&self, rsp: u64) -> bool {
        (self.start..=self.end).contains(&rsp)
    }
}

/// Deepest shadow stack kept frame by frame. Beyond it only the depth is counted.
pub(super) const CAPACITY: usize = 1 << 16;

/// A shadow stack with a fixed place in the thread's block.
pub(super) struct Frames {
    open: [Frame; CAPACITY],
    used: usize,
}

impl Frames {
    /// Starts over with the outermost call's frame.
    pub(super) fn reset(&mut self, outermost: Frame) {
        self.used = 0;
        self.push(outermost);
    }

    /// Notes a call. A stack deeper than [`CAPACITY`] keeps its top frame in the last place.
    pub(super) fn push(&mut self, frame: Frame) {
        if let Some(place) = self.open.get_mut(self.used) {
            *place = frame;
            self.used += 1;
        } else if let Some(last) = self.open.last_mut() {
            *last = frame;
        }
    }

    /// Drops every frame that is over when RSP is `rsp`, and what was called from it: frames on another stack that
    /// control has switched back from.
    pub(super) fn pop_above(&mut self, rsp: u64, bounds: StackBounds) {
        if !bounds.contains(rsp) {
            return;
        }
        while let Some(last) = self.last_in(bounds)
            && self.open.get(last).is_some_and(|frame| frame.slot < rsp)
        {
            self.used = last;
        }
    }

    /// The place of the topmost frame on this stack: nearly always the top.
    fn last_in(&self, bounds: StackBounds) -> Option<usize> {
        self.open.get(..self.used)?.iter().rposition(|frame| bounds.contains(frame.slot))
    }

    pub(super) fn top(&self) -> Option<Frame> {
        self.used.checked_sub(1).and_then(|last| self.open.get(last)).copied()
    }

    /// The frame `n` places below the top one.
    pub(super) fn below_top(&self, n: usize) -> Option<Frame> {
        self.used.checked_sub(n + 1).and_then(|place| self.open.get(place)).copied()
    }

    /// Open calls inside the traced function: 0 in the function itself, -1 once it is over.
    pub(super) fn depth(&self) -> i32 {
        self.used as i32 - 1
    }

    /// How many frames are open, for [`Self::truncate`].
    pub(super) fn used(&self) -> usize {
        self.used
    }

    /// Drops all but the first `used` frames.
    pub(super) fn truncate(&mut self, used: usize) {
        self.used = self.used.min(used);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.used == 0
    }

    pub(super) fn outermost(&self) -> Option<Frame> {
        self.open.first().copied().filter(|_| self.used > 0)
    }

    pub(super) fn clear(&mut self) {
        self.used = 0;
    }
}
