//! The rows that a listing shows, each call's beginning and end around them.

use std::collections::VecDeque;

use super::options::Options;
use super::rows::{Occasion, Row, Rows};
use super::selection::Selection;
use crate::check::summary::Summary;
use crate::record::marker::Marker;
use crate::record::reader::Trace;

/// [`Rows`] without what the options leave out. What a call began with and came to is kept around the rows of it that
/// are listed.
pub struct Shown<'t> {
    rows: Rows<'t>,
    selection: Selection,
    /// [`Selection::is_everything`], which is asked for every row.
    everything: bool,
    /// The beginning of the call being read, until a row of it is listed.
    beginning: Option<Row>,
    /// Whether a row of this call was listed, and whether the one read last was.
    listed: Listed,
    /// Rows given out before the next one is read.
    ready: VecDeque<Row>,
    /// With [`Selection::last`]: everything was read, and the rest lies in `ready`.
    exhausted: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Listed {
    call: u64,
    some: bool,
    previous: bool,
}

impl<'t> Shown<'t> {
    #[must_use]
    pub fn new(trace: &'t Trace, options: &Options) -> Self {
        Self {
            rows: Rows::new(trace, options),
            everything: options.selection.is_everything(),
            selection: options.selection.clone(),
            beginning: None,
            listed: Listed::default(),
            ready: VecDeque::new(),
            exhausted: false,
        }
    }

    /// Reads to the end and says what the whole trace comes to.
    pub fn finish(&mut self) -> Summary {
        self.rows.by_ref().for_each(drop);
        self.rows.summary()
    }

    fn next_admitted(&mut self) -> Option<Row> {
        loop {
            if let Some(row) = self.ready.pop_front() {
                return Some(row);
            }
            let row = self.rows.next()?;
            if self.listed.call != row.call() {
                self.listed = Listed { call: row.call(), ..Listed::default() };
                self.beginning = None;
            }
            let admitted = match &row {
                Row::Fold(_) => true,
                Row::Step(step) => {
                    self.listed.previous = self.selection.admits(step);
                    self.listed.previous
                }
                Row::Marker(marker) => match marker.occasion {
                    Occasion::Recorded(Marker::Enter { .. }) => {
                        self.beginning = Some(row);
                        continue;
                    }
                    Occasion::Recorded(Marker::Leave { .. }) | Occasion::Discarded { .. } => self.listed.some,
                    _ => self.selection.admits_marker(marker, self.listed.previous),
                },
            };
            if admitted {
                self.listed.some = true;
                self.ready.push_back(row);
                if let Some(beginning) = self.beginning.take() {
                    return Some(beginning);
                }
            }
        }
    }

    /// The last `most` steps of what is admitted, each call's beginning before its first one.
    fn keep_last(&mut self, most: usize) {
        let (mut kept, mut steps) = (VecDeque::new(), 0);
        while let Some(row) = self.next_admitted() {
            steps += usize::from(matches!(row, Row::Step(_)));
            kept.push_back(row);
            while steps > most {
                steps -= usize::from(forget_one(&mut kept));
            }
        }
        self.ready = kept;
        self.exhausted = true;
    }
}

/// Drops the first step, and markers that then belong to nothing; the beginning of its call stays. Whether a step was
/// dropped.
fn forget_one(kept: &mut VecDeque<Row>) -> bool {
    let Some(first) = kept.pop_front() else { return false };
    let beginning = is_beginning(&first);
    let dropped = if beginning { kept.pop_front() } else { Some(first.clone()) };
    while kept.front().is_some_and(|row| !matches!(row, Row::Step(_)) && !is_beginning(row)) {
        kept.pop_front();
    }
    if beginning && kept.front().is_some_and(|row| row.call() == first.call()) {
        kept.push_front(first);
    }
    matches!(dropped, Some(Row::Step(_)))
}

fn is_beginning(row: &Row) -> bool {
    matches!(row, Row::Marker(row) if matches!(row.occasion, Occasion::Recorded(Marker::Enter { .. })))
}

impl Iterator for Shown<'_> {
    type Item = Row;

    #[inline]
    fn next(&mut self) -> Option<Row> {
        if self.everything {
            return self.rows.next();
        }
        if self.exhausted {
            return self.ready.pop_front();
        }
        if let Some(most) = self.selection.last {
            self.keep_last(most);
            return self.ready.pop_front();
        }
        self.next_admitted()
    }
}
