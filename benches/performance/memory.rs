//! How much the traced process grows: not with the length of the trace.

use std::process::Command;

use crate::command;
use crate::line::{self, Target};
use crate::selection::Selection;

const FUNCTION: [&str; 4] = ["-f", "bench_branchy", "--registers", "changed"];

/// Rounds of the workload, some 700 steps each.
const SHORT: usize = 40;
const LONG: usize = 800;

/// VmRSS at the program's start and behind the traced call, in KiB.
struct Resident {
    before: f64,
    after: f64,
}

pub fn run(selection: &Selection) {
    let (growth, start) = ("memory/long-trace", "memory/armed");
    if !selection.wants(growth) && !selection.wants(start) {
        return;
    }
    let native = resident(&mut command::this_program("memory", LONG));
    let (Some(native), Some(short), Some(long)) = (native, traced(SHORT), traced(LONG)) else {
        return line::skip("memory/*", "no executable (built without the `cli` feature), or its run failed");
    };
    let grown = |resident: &Resident| resident.after - resident.before;
    if selection.wants(growth) {
        let times = LONG / SHORT;
        let basis = format!("VmRSS grown over a traced call; peer: a trace a {times}th as long");
        line::ratio(growth, grown(&long), grown(&short), "KiB", Target::AtMost(1.5), &basis);
    }
    if selection.wants(start) {
        let basis = "VmRSS at the start of main; peer: the same program untraced";
        line::ratio(start, long.before, native.before, "KiB", Target::None, basis);
    }
}

fn traced(rounds: usize) -> Option<Resident> {
    let directory = tempfile::tempdir().ok()?;
    let file = directory.path().join("t.ostrace");
    resident(&mut command::trace(&FUNCTION, &file, &command::this_program("memory", rounds))?)
}

fn resident(command: &mut Command) -> Option<Resident> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    let mut numbers = text.lines().filter_map(|line| line.parse().ok());
    Some(Resident { before: numbers.next()?, after: numbers.next()? })
}
