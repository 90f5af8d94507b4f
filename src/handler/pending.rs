//! The instructions that the next stop will prove: the one at the last stop, and those the walk passes.

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
    rows: [Option<PendingRow>; MOST_ROWS],
    used: usize,
    /// How the first row's address was reached; the others are reconstructed.
    pub(super) verdict: Verdict,
    /// The first row's memory operands, reads with the value they find.
    pub(super) operands: [Option<MemoryAccess>; MOST_OPERANDS],
}

impl Pending {
    pub(super) fn none() -> Self {
        Self { rows: [None; MOST_ROWS], used: 0, verdict: Verdict::Exact, operands: [None; MOST_OPERANDS] }
    }

    pub(super) fn start(&mut self, verdict: Verdict) {
        self.used = 0;
        self.verdict = verdict;
        self.operands = [None; MOST_OPERANDS];
    }

    /// Adds a row; `false` when there is no place for more.
    pub(super) fn push(&mut self, row: PendingRow) -> bool {
        let Some(place) = self.rows.get_mut(self.used) else { return false };
        *place = Some(row);
        self.used += 1;
        true
    }

    pub(super) fn clear(&mut self) {
        self.used = 0;
    }

    pub(super) fn rows(&self) -> impl ExactSizeIterator<Item = &PendingRow> {
        RowIter { rows: self.rows.get(..self.used).unwrap_or(&[]) }
    }

    pub(super) fn first(&self) -> Option<&PendingRow> {
        self.rows().next()
    }
}

struct RowIter<'a> {
    rows: &'a [Option<PendingRow>],
}

impl<'a> Iterator for RowIter<'a> {
    type Item = &'a PendingRow;

    fn next(&mut self) -> Option<Self::Item> {
        let (first, rest) = self.rows.split_first()?;
        self.rows = rest;
        first.as_ref()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.rows.len(), Some(self.rows.len()))
    }
}

impl ExactSizeIterator for RowIter<'_> {}
