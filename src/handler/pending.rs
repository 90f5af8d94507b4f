//! The instructions that the next stop will prove: the one at the last stop, and those the walk passes.

#![allow(unsafe_code, reason = "rows beyond the used ones are never initialised: the block is large")]

use std::mem::MaybeUninit;

use super::code::Fetched;
use crate::address::RuntimeAddr;
use crate::record::step::MemoryAccess;
use crate::record::verdict::Verdict;

/// Longest run of instructions between two stops.
pub(super) const MOST_ROWS: usize = 64;
/// Memory operands of one instruction that are recorded.
pub(super) const MOST_OPERANDS: usize = crate::image::operands::CAPACITY;

/// One instruction that has not been seen to retire yet.
#[derive(Clone, Copy)]
pub(super) struct PendingRow {
    pub(super) fetched: Fetched,
    pub(super) next: RuntimeAddr,
    pub(super) depth: i32,
}

/// What the handler promised itself at the last stop.
pub(super) struct Pending {
    /// The first `used` are initialised.
    rows: [MaybeUninit<PendingRow>; MOST_ROWS],
    used: usize,
    /// How the first row's address was reached; the others are reconstructed.
    pub(super) verdict: Verdict,
    /// The first row's memory operands, reads with the value they find.
    pub(super) operands: [Option<MemoryAccess>; MOST_OPERANDS],
}

impl Pending {
    /// Makes a fresh mapping's zeros an empty list.
    ///
    /// # Safety
    /// `place` points to writable memory for a `Pending`.
    pub(super) unsafe fn write_empty(place: *mut Self) {
        // SAFETY: the caller's promise; `rows` may stay as it is.
        unsafe {
            (&raw mut (*place).used).write(0);
            (&raw mut (*place).verdict).write(Verdict::Exact);
            (&raw mut (*place).operands).write([None; MOST_OPERANDS]);
        }
    }

    pub(super) fn start(&mut self, verdict: Verdict) {
        self.used = 0;
        self.verdict = verdict;
        self.operands = [None; MOST_OPERANDS];
    }

    /// Adds a row; `false` when there is no place for more.
    pub(super) fn push(&mut self, row: PendingRow) -> bool {
        let Some(place) = self.rows.get_mut(self.used) else { return false };
        place.write(row);
        self.used += 1;
        true
    }

    /// Forgets all but the first `used` rows.
    pub(super) fn truncate(&mut self, used: usize) {
        self.used = self.used.min(used);
    }

    pub(super) fn clear(&mut self) {
        self.used = 0;
    }

    pub(super) fn rows(&self) -> &[PendingRow] {
        let used = self.rows.get(..self.used).unwrap_or(&[]);
        // SAFETY: the first `used` rows have been written, and MaybeUninit<T> is laid out as T.
        unsafe { std::slice::from_raw_parts(used.as_ptr().cast(), used.len()) }
    }
}
