//! What the agent costs where nothing is traced: preloaded without a session, and behind the traced call.

use std::process::{Command, Stdio};

use crate::line::{self, Target};
use crate::selection::Selection;
use crate::{clock, command};

/// Some 100 ms each.
const COMPUTE: usize = 1000;

pub fn run(selection: &Selection) {
    let compute = || command::this_program("compute", COMPUTE);
    preloaded("inert/compute", 1.01, 15, selection, compute);
    let status = || {
        let mut command = Command::new("git");
        // Refreshing the index would make one run's work depend on the one before.
        command.args(["-C", env!("CARGO_MANIFEST_DIR"), "status"]).env("GIT_OPTIONAL_LOCKS", "0");
        command
    };
    preloaded("inert/git-status", 1.05, 150, selection, status);
    behind_the_traced_call(selection);
}

fn preloaded(name: &str, most: f64, rounds: usize, selection: &Selection, program: impl Fn() -> Command) {
    if !selection.wants(name) {
        return;
    }
    let Some(agent) = command::agent() else {
        return line::skip(name, "no agent: built without the `cli` feature");
    };
    let (mut ours, mut peer) = (u64::MAX, u64::MAX);
    for _ in 0..rounds {
        let run = |best: &mut u64, command: &mut Command| {
            let spent = clock::of_run(command.stdout(Stdio::null()).stderr(Stdio::null()));
            *best = spent.unwrap_or(u64::MAX).min(*best);
        };
        run(&mut ours, program().env("LD_PRELOAD", &agent));
        run(&mut peer, program().env_remove("LD_PRELOAD"));
    }
    if ours == u64::MAX || peer == u64::MAX {
        return line::skip(name, "the program fails here");
    }
    let basis = format!("CPU time of the process, best of {rounds}; peer: without the agent");
    line::ratio(name, micro(ours), micro(peer), "µs", Target::AtMost(most), &basis);
}

/// A program with one function traced, and the time it takes for everything after.
fn behind_the_traced_call(selection: &Selection) {
    let (name, rounds) = ("inert/after-trace", 15);
    if !selection.wants(name) {
        return;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("t.ostrace");
    let program = || command::this_program("rest", COMPUTE);
    let (mut ours, mut peer) = (u64::MAX, u64::MAX);
    for _ in 0..rounds {
        let Some(mut traced) = command::trace(&["-f", "bench_branchy"], &file, &program()) else {
            return line::skip(name, "built without the `cli` feature");
        };
        ours = ours.min(said(&mut traced));
        peer = peer.min(said(&mut program()));
    }
    if ours == u64::MAX || peer == u64::MAX {
        return line::skip(name, "the program fails here");
    }
    let basis = format!("CPU time behind the traced call, best of {rounds}; peer: untraced");
    line::ratio(name, micro(ours), micro(peer), "µs", Target::AtMost(1.01), &basis);
}

/// The nanoseconds that the program says it took; the most there can be when it fails.
fn said(command: &mut Command) -> u64 {
    let output = command.output().ok().filter(|output| output.status.success());
    let text = output.and_then(|output| String::from_utf8(output.stdout).ok());
    text.and_then(|text| text.trim().parse().ok()).unwrap_or(u64::MAX)
}

fn micro(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1000.0
}
