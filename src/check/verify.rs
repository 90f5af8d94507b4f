//! Checks a whole trace again, from nothing but its file.

use super::finding::{Finding, Flaw};
use super::report::Report;
use super::summary::Summary;
use super::thread_check::ThreadCheck;
use crate::record::control::Engine;
use crate::record::reader::{DamageCause, Entry, Trace};

/// Holds every row against its instruction, its neighbours and the instruction map, and the counts against each
/// other. Decodes and computes anew what the tracer had decided when it recorded.
#[must_use]
pub fn verify(trace: &Trace) -> Report {
    let counters = trace.counters();
    let mut report = Report {
        summary: Summary::of_counters(counters.all_entries(), counters.traced),
        ..Report::default()
    };
    let mut calls = 0;
    for &thread in trace.threads() {
        let mut check = ThreadCheck::new(trace, &mut report);
        for entry in trace.entries(thread) {
            match entry {
                Entry::Step(step) => check.step(&step),
                Entry::Marker(marker) => check.marker(&marker),
            }
        }
        calls += check.calls;
    }
    check_counts(trace, calls, &mut report);
    report.unclosed = trace.is_unclosed();
    if report.unclosed && report.code_missing > 0 {
        // Code stands in the file before the first row that needs it, so a tracer that was killed leaves no such row.
        let found = format!("{} rows whose code is not in it: its end was cut off", report.code_missing);
        report.add(whole(Flaw::Damage, "a whole file", &found));
    }
    for damage in trace.damage() {
        match damage.cause {
            DamageCause::Hole => report.holes += 1,
            _ => report.add(whole(Flaw::Damage, "an intact file", &damage.to_string())),
        }
    }
    report
}

/// The kernel's counts against the handler's.
fn check_counts(trace: &Trace, calls: u64, report: &mut Report) {
    let counters = trace.counters();
    if counters.traced < calls {
        let expected = format!("at most the {} calls that the handler counted as traced", counters.traced);
        report.add(whole(Flaw::Count, &expected, &format!("{calls} calls in the trace")));
    }
    // A step event adds its count when it is closed. A killed thread closes nothing, and the trap flag has none.
    let (hits, stops) = (counters.step_hits, counters.stops);
    if trace.header.engine == Engine::TrapFlag || hits == 0 {
        return;
    }
    report.counted = hits == stops;
    if hits > stops || (hits < stops && trace.threads().len() == 1) {
        let expected = format!("{hits} stops, as many as the step event counted");
        report.add(whole(Flaw::Count, &expected, &format!("{stops} stops handled")));
    }
}

fn whole(flaw: Flaw, expected: &str, found: &str) -> Finding {
    Finding { flaw, row: None, expected: expected.to_owned(), found: found.to_owned() }
}
