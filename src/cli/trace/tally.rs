//! The summary of a trace that is not listed.

use crate::check::summary::Summary;
use crate::record::reader::{Entry, Trace};

/// Reads every entry of every thread.
pub fn of(trace: &Trace) -> Summary {
    let counters = trace.counters();
    let mut summary = Summary::of_counters(counters.entered, counters.traced);
    for &thread in trace.threads() {
        for entry in trace.entries(thread) {
            match entry {
                Entry::Step(step) => summary.add_step(step.verdict),
                Entry::Marker(entry) => summary.add_marker(&entry.marker),
            }
        }
    }
    summary
}
