//! How fast a trace becomes text.

use overstep::check::summary::Summary;
use overstep::record::reader::Trace;

use crate::line::{self, Target};
use crate::selection::Selection;
use crate::{clock, command, size};

const ROUNDS: usize = 5;

/// Rounds of the workload: some 280,000 rows.
const AMOUNT: usize = 400;

pub fn run(selection: &Selection) {
    let name = "list/text";
    if !selection.wants(name) {
        return;
    }
    match rows_per_second() {
        Ok((rows, rate)) => {
            let basis =
                format!("{rows} rows with registers, CPU time of the whole command, best of {ROUNDS}");
            line::figure(name, rate, "rows/s", Target::AtLeast(500_000.0), &basis);
        }
        Err(reason) => line::skip(name, &reason),
    }
}

fn rows_per_second() -> Result<(u64, f64), String> {
    let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
    let file = directory.path().join("t.ostrace");
    size::write(&["-f", "bench_branchy"], &file, &command::this_program("branchy", AMOUNT))?;
    let rows = Summary::of(&Trace::open(&file).map_err(|error| error.to_string())?).steps;
    let mut runs = (0..ROUNDS).map(|_| command::list(&file).and_then(|mut list| clock::of_run(&mut list)));
    let first = runs.next().flatten().ok_or("overstep list failed")?;
    let best = runs.flatten().fold(first, u64::min);
    Ok((rows, rows as f64 / (best as f64 / 1e9)))
}
