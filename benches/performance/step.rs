//! What a step costs, against the bare limit, the trap flag and ptrace.

use crate::fixed_stack::FixedStack;
use crate::forked::{Board, Sample};
use crate::line::{self, Target};
use crate::peer::{bare, ours, single_step, trap_flag};
use crate::python;
use crate::selection::Selection;
use crate::workload::{self, Workload};

/// Every contestant runs once a round; the fastest run of each counts.
const ROUNDS: usize = 12;

/// The cheapest run of each contestant so far.
#[derive(Default)]
struct Best {
    instructions: Option<Sample>,
    blocks: Option<Sample>,
    bare: Option<Sample>,
    trap_flag: Option<Sample>,
    single_step: Option<Sample>,
}

pub fn run(selection: &Selection) {
    let names = ["bare", "trap-flag", "ptrace", "block"];
    let wanted = |workload: &str| names.iter().any(|name| selection.wants(&line_name(name, workload)));
    if wanted("qsort") {
        contest(&workload::qsort(1), selection);
    }
    if wanted("branchy") {
        contest(&workload::branchy(24), selection);
    }
    if wanted("python") {
        match python::call() {
            Ok(workload) => contest(&workload, selection),
            Err(reason) => line::skip("step/*/python", &reason),
        }
    }
}

fn line_name(peer: &str, workload: &str) -> String {
    format!("step/{peer}/{workload}")
}

fn contest(workload: &Workload, selection: &Selection) {
    let stack = FixedStack::new().expect("a mebibyte of stack");
    let board = Board::new().expect("four mebibytes shared with children");
    if board.sample(|board| ours::path(board, workload, &stack)).is_none() {
        return line::skip(&line_name("*", workload.name), "cannot be traced here: overstep doctor");
    }
    let mut best = Best::default();
    for _ in 0..ROUNDS {
        keep(&mut best.instructions, board.sample(|board| ours::instructions(board, workload, &stack)));
        keep(&mut best.bare, board.sample(|board| bare::run(board, workload, &stack)));
        keep(&mut best.trap_flag, board.sample(|board| trap_flag::run(board, workload, &stack)));
        keep(&mut best.blocks, board.sample(|board| ours::blocks(board, workload, &stack)));
        keep(&mut best.single_step, board.sample(|board| single_step::run(board, workload, &stack)));
    }
    let lines = [
        ("bare", best.instructions, best.bare, 1.25, "a handler that only moves the breakpoint"),
        ("trap-flag", best.instructions, best.trap_flag, 1.5, "trap flag, empty handler"),
        ("ptrace", best.instructions, best.single_step, 0.9, "PTRACE_SINGLESTEP and GETREGS"),
        ("block", best.blocks, best.trap_flag, 0.5, "trap flag, empty handler; ours without registers"),
    ];
    for (peer, ours, theirs, target, what) in lines {
        let name = line_name(peer, workload.name);
        if !selection.wants(&name) {
            continue;
        }
        let (Some(ours), Some(theirs)) = (ours, theirs) else {
            line::skip(&name, "a contestant failed in every round; its message stands on standard error");
            continue;
        };
        let basis = format!("{} and {} steps, best of {ROUNDS}; peer: {what}", ours.steps, theirs.steps);
        line::ratio(&name, ours.per_step(), theirs.per_step(), "ns", Target::AtMost(target), &basis);
    }
}

fn keep(best: &mut Option<Sample>, sample: Option<Sample>) {
    let Some(sample) = sample else { return };
    if best.is_none_or(|best| sample.per_step() < best.per_step()) {
        *best = Some(sample);
    }
}
