//! Rows and markers with everything a format may want to show, made once.

use std::rc::Rc;

use super::by_call::ByCall;
use super::code::{Code, CodeTexts};
use super::markers;
use super::options::Options;
use crate::check::summary::Summary;
use crate::record::reader::{Entry, MarkerEntry, StepEntry, Trace};

/// One line of a listing.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "nearly all rows are steps: a box would only cost")]
pub enum Row {
    Step(StepRow),
    Marker(MarkerRow),
}

/// A retired instruction and its text.
#[derive(Clone, Debug)]
pub struct StepRow {
    pub entry: StepEntry,
    pub code: Rc<Code>,
}

/// A marker, its kind by the JSON contract, and its words.
#[derive(Clone, Debug)]
pub struct MarkerRow {
    pub entry: MarkerEntry,
    pub kind: &'static str,
    pub text: String,
}

impl Row {
    /// The call it belongs to; 0 before a thread's first one.
    #[must_use]
    pub const fn call(&self) -> u64 {
        match self {
            Self::Step(row) => row.entry.call,
            Self::Marker(row) => row.entry.call,
        }
    }
}

/// A trace's rows, call by call. Holds one row per thread and the text of distinct instructions, however long
/// the trace.
pub struct Rows<'t> {
    trace: &'t Trace,
    entries: ByCall<'t>,
    codes: CodeTexts<'t>,
    summary: Summary,
}

impl<'t> Rows<'t> {
    #[must_use]
    pub fn new(trace: &'t Trace, options: &Options) -> Self {
        let counters = trace.counters();
        Self {
            trace,
            entries: ByCall::new(trace),
            codes: CodeTexts::new(trace, options.syntax),
            summary: Summary::of_counters(counters.entered, counters.traced),
        }
    }

    /// What the rows given out so far come to; the whole trace once there is no next one.
    #[must_use]
    pub const fn summary(&self) -> Summary {
        self.summary
    }
}

impl Iterator for Rows<'_> {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        Some(match self.entries.next()? {
            Entry::Step(entry) => {
                self.summary.add_step(entry.verdict);
                let code = self.codes.of(&entry);
                Row::Step(StepRow { entry, code })
            }
            Entry::Marker(entry) => {
                self.summary.add_marker(&entry.marker);
                let text = markers::text(self.trace, &entry.marker);
                Row::Marker(MarkerRow { kind: markers::kind(&entry.marker), text, entry })
            }
        })
    }
}
