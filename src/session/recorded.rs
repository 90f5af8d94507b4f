//! A finished trace of the library.

use std::io;

use crate::check::summary::Summary;
use crate::listing::options::Options;
use crate::listing::text;
use crate::record::marker::Marker;
use crate::record::reader::{Entry, StepEntry, Trace};

/// What a traced closure did.
#[derive(Debug)]
pub struct Recorded {
    trace: Trace,
}

impl Recorded {
    pub(super) const fn new(trace: Trace) -> Self {
        Self { trace }
    }

    /// Every row counted by verdict.
    #[must_use]
    pub fn summary(&self) -> Summary {
        Summary::of(&self.trace)
    }

    /// Rows and markers in the order they happened.
    pub fn entries(&self) -> impl Iterator<Item = Entry> {
        self.trace.threads().iter().flat_map(|thread| self.trace.entries(*thread))
    }

    /// The rows alone.
    pub fn steps(&self) -> impl Iterator<Item = StepEntry> {
        self.entries().filter_map(|entry| match entry {
            Entry::Step(step) => Some(step),
            Entry::Marker(_) => None,
        })
    }

    /// The markers alone.
    pub fn markers(&self) -> impl Iterator<Item = Marker> {
        self.entries().filter_map(|entry| match entry {
            Entry::Marker(marker) => Some(marker.marker),
            Entry::Step(_) => None,
        })
    }

    /// The trace as a file would hold it: modules, symbols, code.
    #[must_use]
    pub const fn trace(&self) -> &Trace {
        &self.trace
    }

    /// The listing of `overstep list`, without colours.
    ///
    /// # Errors
    /// What `out` says.
    pub fn write_text(&self, out: &mut impl io::Write) -> io::Result<Summary> {
        text::write(&self.trace, &Options::default(), out)
    }
}
