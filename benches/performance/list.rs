//! How fast a trace becomes a listing, and what memory that takes.

use overstep::check::summary::Summary;
use overstep::record::reader::Trace;

use crate::line::{self, Target};
use crate::selection::Selection;
use crate::{clock, command, size};

const ROUNDS: usize = 5;

/// Rounds of the workload: some 280,000 rows.
const AMOUNT: usize = 400;

/// Each line, the options it lists with, and what is wanted of it.
const LINES: [(&str, &[&str], Target); 7] = [
    ("list/text", &[], Target::AtLeast(500_000.0)),
    ("list/collapsed", &["--collapse-loops"], Target::None),
    ("list/stable", &["--stable"], Target::None),
    ("list/markdown", &["--format", "markdown"], Target::None),
    ("list/csv", &["--format", "csv"], Target::None),
    ("list/json", &["--format", "json"], Target::None),
    ("list/html", &["--format", "html"], Target::None),
];

/// The trace is in memory once, and what a listing adds to it does not grow with it.
const MEMORY: &str = "list/html-memory";

pub fn run(selection: &Selection) {
    if !LINES.iter().any(|(name, ..)| selection.wants(name)) && !selection.wants(MEMORY) {
        return;
    }
    let directory = match tempfile::tempdir() {
        Ok(directory) => directory,
        Err(error) => return line::skip("list/*", &error.to_string()),
    };
    let file = directory.path().join("t.ostrace");
    if let Err(reason) =
        size::write(&["-f", "bench_branchy"], &file, &command::this_program("branchy", AMOUNT))
    {
        return line::skip("list/*", &reason);
    }
    let rows = match Trace::open(&file) {
        Ok(trace) => Summary::of(&trace).steps,
        Err(error) => return line::skip("list/*", &error.to_string()),
    };
    for (name, options, target) in LINES.into_iter().filter(|(name, ..)| selection.wants(name)) {
        let run = || clock::of_run(command::list(&file)?.args(options));
        match (0..ROUNDS).map_while(|_| run()).min() {
            Some(best) => {
                let rate = rows as f64 / (best as f64 / 1e9);
                let basis =
                    format!("{rows} rows with registers, CPU time of the whole command, best of {ROUNDS}");
                line::figure(name, rate, "rows/s", target, &basis);
            }
            None => line::skip(name, "overstep list failed"),
        }
    }
    if selection.wants(MEMORY) {
        match memory(&file) {
            Some((peak, trace)) => {
                let basis = "peak resident size of `list --format html`; peer: the trace file";
                line::ratio(MEMORY, peak, trace, "KiB", Target::None, basis);
            }
            None => line::skip(MEMORY, "overstep list failed"),
        }
    }
}

/// Peak resident size of the listing command and the length of the trace, in KiB.
fn memory(file: &std::path::Path) -> Option<(f64, f64)> {
    let peak = clock::peak_of_run(command::list(file)?.args(["--format", "html"]))?;
    Some((peak as f64, file.metadata().ok()?.len() as f64 / 1024.0))
}
