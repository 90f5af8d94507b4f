//! The rows that a listing shows, repeated iterations left out.

use super::loops::Folds;
use super::options::{Loops, Options, Values};
use super::rows::{FoldRow, Row};
use super::selection::Selection;
use super::shown::Shown;
use crate::check::summary::Summary;
use crate::record::reader::Trace;

/// [`Shown`], folded where the options say so. Rows are selected first, so that a fold speaks of rows that were asked for.
pub struct Folded<'t> {
    shown: Shown<'t>,
    folds: Option<Folds>,
    /// The call being read, its fold that rows have come to, and whether that one was given out.
    call: u64,
    index: usize,
    said: bool,
}

impl<'t> Folded<'t> {
    /// Where loops are folded, the rows are read once before.
    #[must_use]
    pub fn new(trace: &'t Trace, options: &Options) -> Self {
        let folds = (options.loops == Loops::Collapsed).then(|| {
            let mut bare = Options { source: None, ..options.clone() };
            if bare.selection.is_everything() {
                bare.values = Values::Recorded;
            }
            let shown = Shown::new(trace, &bare);
            if bare.selection.is_stretch() {
                let whole =
                    Options { selection: Selection::default(), values: Values::Recorded, ..bare.clone() };
                return Folds::of_part(shown, Shown::new(trace, &whole));
            }
            Folds::of(shown)
        });
        Self { shown: Shown::new(trace, options), folds, call: 0, index: 0, said: false }
    }

    /// Reads to the end and says what the whole trace comes to.
    pub fn finish(&mut self) -> Summary {
        self.shown.finish()
    }
}

impl Iterator for Folded<'_> {
    type Item = Row;

    #[inline]
    fn next(&mut self) -> Option<Row> {
        loop {
            let row = self.shown.next()?;
            let Some(folds) = &self.folds else { return Some(row) };
            if self.call != row.call() {
                (self.call, self.index, self.said) = (row.call(), 0, false);
            }
            let number = match &row {
                Row::Step(row) => row.entry.n,
                Row::Marker(row) => row.after,
                Row::Fold(_) => return Some(row),
            };
            let folds = folds.of_call(self.call);
            while folds.get(self.index).is_some_and(|fold| fold.hidden.end <= number) {
                (self.index, self.said) = (self.index + 1, false);
            }
            let Some(fold) = folds.get(self.index).filter(|fold| fold.hidden.contains(&number)) else {
                return Some(row);
            };
            if !std::mem::replace(&mut self.said, true) {
                return Some(Row::Fold(FoldRow { call: self.call, fold: fold.clone() }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::synthetic::{Synthetic, THREAD};
    use crate::record::marker::Marker;
    use crate::registers::{RAX, RDI, RSI};

    /// The steps listed, and the rows that folds stand for, in order.
    fn listed(trace: &Synthetic, selection: Selection) -> Vec<(u64, Option<u64>)> {
        let trace = trace.read();
        let options = Options { loops: Loops::Collapsed, selection, ..Options::default() };
        let rows = Folded::new(&trace, &options).filter_map(|row| match row {
            Row::Step(row) => Some((row.entry.n, None)),
            Row::Fold(row) => Some((row.fold.hidden.start, Some(row.fold.hidden.end - 1))),
            Row::Marker(_) => None,
        });
        rows.collect()
    }

    /// One loop.
    fn single(selection: Selection) -> Vec<(u64, Option<u64>)> {
        let mut trace = Synthetic::new();
        trace.enter(THREAD, 1, 0x1139);
        // Neighbours in the Fibonacci series go round most often.
        (trace.registers.general[RDI], trace.registers.general[RSI]) = (144, 89);
        trace.gcd(0x117b);
        trace.marker(Marker::Leave { rax: trace.registers.general[RAX], xmm0: [0; 16] });
        listed(&trace, selection)
    }

    #[test]
    fn rows_are_selected_before_they_are_folded() {
        let range = Selection { ranges: vec![20..=50], ..Selection::default() };
        let last = Selection { last: Some(31), ..Selection::default() };
        for selection in [range, last] {
            let rows = single(selection);
            assert!(rows[0].1.is_none(), "a row is shown above every fold: {rows:?}");
            let (first, _) = rows[0];
            let folds = rows.iter().filter(|(_, hidden)| hidden.is_some()).count();
            assert_eq!(folds, 1, "{rows:?}");
            // Nothing is left out unsaid, and nothing is said of what was not asked for.
            let mut next = first;
            for (begin, hidden) in rows {
                assert_eq!(begin, next);
                next = hidden.unwrap_or(begin) + 1;
            }
            assert_eq!(next, first + 31);
        }
    }

    /// Rows of an outer loop around an inner one of as many rounds as said, each row an address.
    fn nested(rounds: &[u64], selection: Selection) -> Vec<(u64, Option<u64>)> {
        let mut trace = Synthetic::new();
        trace.enter(THREAD, 1, 0x1200);
        for rounds in rounds {
            trace.step(0x1204, |_| {}, |_| {}); // the outer loop's beginning
            for round in 1..=*rounds {
                trace.step(0x1208, |_| {}, |_| {});
                let next = if round == *rounds { 0x120c } else { 0x1204 };
                trace.step(next, |_| {}, |_| {});
            }
            trace.step(0x1200, |_| {}, |_| {});
        }
        listed(&trace, selection)
    }

    #[test]
    fn a_cut_listing_folds_within_the_loops_of_the_whole_call() {
        // An outer iteration of twelve rows: its beginning, five rounds of two rows, its end. The cut begins inside of a round and
        // ends inside of the next outer iteration.
        let range = Selection { ranges: vec![3..=20], ..Selection::default() };
        let rows = nested(&[5, 5, 5], range);
        let folds: Vec<_> = rows.iter().filter_map(|(begin, end)| Some((*begin, (*end)?))).collect();
        for (begin, end) in &folds {
            assert!(*end < 12 || *begin > 12, "no fold goes over the end of an outer iteration: {rows:?}");
        }
        assert!(!folds.is_empty(), "{rows:?}");
        let mut next = 3;
        for (begin, hidden) in rows {
            assert_eq!(begin, next);
            next = hidden.unwrap_or(begin) + 1;
        }
        assert_eq!(next, 21);
    }
}
