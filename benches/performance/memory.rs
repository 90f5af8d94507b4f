//! How much the traced process grows: not with the length of the trace.

use std::process::Command;

use crate::command;
use crate::line::{self, Target};
use crate::selection::Selection;

const FUNCTION: [&str; 4] = ["-f", "bench_branchy", "--registers", "changed"];

/// Rounds of the workload, some 1,200 steps each.
const SHORT: usize = 40;
const LONG: usize = 800;

/// VmRSS at the program's start and behind the traced call, and the length of the trace, in KiB.
struct Resident {
    before: f64,
    after: f64,
    trace: f64,
}

impl Resident {
    fn grown(&self) -> f64 {
        self.after - self.before
    }
}

pub fn run(selection: &Selection) {
    let (growth, start) = ("memory/growth", "memory/armed");
    if !selection.wants(growth) && !selection.wants(start) {
        return;
    }
    let native = resident(&mut command::this_program("memory", LONG));
    let (Some((native, _)), Some(short), Some(long)) = (native, traced(SHORT), traced(LONG)) else {
        return line::skip("memory/*", "no executable (built without the `cli` feature), or its run failed");
    };
    if selection.wants(growth) {
        let basis = format!(
            "VmRSS over a traced call: {} KiB for a trace of {:.0}, {} for one of {:.0}; ours: the difference, peer: that of the traces",
            short.grown(),
            short.trace,
            long.grown(),
            long.trace,
        );
        let grown = (long.grown() - short.grown()).max(0.0);
        line::ratio(growth, grown, long.trace - short.trace, "KiB", Target::AtMost(0.1), &basis);
    }
    if selection.wants(start) {
        let basis = "VmRSS at the start of main; peer: the same program untraced";
        line::ratio(start, long.before, native, "KiB", Target::None, basis);
    }
}

fn traced(rounds: usize) -> Option<Resident> {
    let directory = tempfile::tempdir().ok()?;
    let file = directory.path().join("t.ostrace");
    let (before, after) =
        resident(&mut command::trace(&FUNCTION, &file, &command::this_program("memory", rounds))?)?;
    Some(Resident { before, after, trace: file.metadata().ok()?.len() as f64 / 1024.0 })
}

/// VmRSS before and behind the call, as the program says.
fn resident(command: &mut Command) -> Option<(f64, f64)> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    let mut numbers = text.lines().filter_map(|line| line.parse().ok());
    Some((numbers.next()?, numbers.next()?))
}
