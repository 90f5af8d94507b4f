//! Which rows of a trace a listing leaves out because they repeat the ones before.

use std::collections::HashMap;
use std::ops::Range;

use super::finder::Finder;
use crate::listing::by_call::call_of;
use crate::record::reader::{Entry, Trace};

/// Iterations of one loop that are left out: the one before them and the one behind look the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fold {
    /// Row numbers within the call.
    pub hidden: Range<u64>,
    /// Iterations left out.
    pub left_out: u64,
    /// Iterations in the run of equal ones, the two that are shown included.
    pub of: u64,
}

/// The folds of every call, found by reading the trace once.
#[derive(Clone, Debug, Default)]
pub struct Folds(HashMap<u64, Vec<Fold>>);

impl Folds {
    /// What can be folded in `trace`. Holds a call's instructions in a few bytes each while it is read, and afterwards
    /// the folds alone.
    #[must_use]
    pub fn of(trace: &Trace) -> Self {
        let mut folds = HashMap::new();
        for &thread in trace.threads() {
            let mut call = None;
            for entry in trace.entries(thread) {
                let number = call_of(&entry);
                if call.as_ref().is_none_or(|(known, _)| *known != number) {
                    keep(&mut folds, call.replace((number, Finder::default())));
                }
                if let Some((_, finder)) = &mut call {
                    match &entry {
                        Entry::Step(step) => finder.step(step),
                        Entry::Marker(marker) => finder.marker(marker),
                    }
                }
            }
            keep(&mut folds, call);
        }
        Self(folds)
    }

    /// Every call that has some.
    pub fn calls(&self) -> impl Iterator<Item = (u64, &[Fold])> {
        self.0.iter().map(|(call, folds)| (*call, folds.as_slice()))
    }

    /// The folds of one call, by their first row.
    #[must_use]
    pub fn of_call(&self, call: u64) -> &[Fold] {
        self.0.get(&call).map_or(&[], Vec::as_slice)
    }
}

fn keep(folds: &mut HashMap<u64, Vec<Fold>>, call: Option<(u64, Finder)>) {
    if let Some((number, finder)) = call {
        let found = finder.finish();
        if !found.is_empty() {
            folds.insert(number, found);
        }
    }
}
