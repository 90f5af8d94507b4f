//! What a call's rows so far say about how it may end.

use std::rc::Rc;

use super::code::Code;
use super::markers;
use super::rows::StepRow;
use crate::address::RuntimeAddr;
use crate::record::marker::Marker;

/// The call being listed.
#[derive(Debug, Default)]
pub struct OpenCall {
    pub call: u64,
    pub thread: u32,
    /// The last row: its number, address and instruction.
    pub last: Option<(u64, RuntimeAddr, Rc<Code>)>,
    /// A marker said how it ended, and no row came after it.
    ended: bool,
    /// Nothing since the last row but a native stretch: the way out is known.
    seen: bool,
    /// Nothing since the last row but a function that comes back elsewhere than behind its call.
    jumped: bool,
}

impl OpenCall {
    /// A call without rows.
    #[must_use]
    pub fn new(call: u64, thread: u32) -> Self {
        Self { call, thread, ..Self::default() }
    }

    /// Follows one row.
    pub fn step(&mut self, row: &StepRow) {
        self.last = Some((row.entry.n, row.entry.address, Rc::clone(&row.code)));
        (self.ended, self.seen, self.jumped) = (false, true, false);
    }

    /// Follows one marker.
    pub fn marker(&mut self, marker: &Marker) {
        self.ended |= markers::ends_call(marker);
        self.seen &= matches!(marker, Marker::Native { .. });
        self.jumped |= matches!(marker, Marker::Native { resume: RuntimeAddr(0), .. });
    }

    /// Itself, if nothing has said how it ended. What came before a thread's first call was none.
    #[must_use]
    pub fn if_open(self) -> Option<Self> {
        (self.call > 0 && !self.ended).then_some(self)
    }

    /// Whether a frame left now was left by an instruction that does not return: the frame was discarded by longjmp
    /// or an unwinder. Where something happened between that a row does not show, a return is assumed.
    #[must_use]
    pub fn left_without_return(&self) -> bool {
        self.seen && (self.jumped || self.last.as_ref().is_some_and(|(_, _, code)| !code.may_return))
    }
}
