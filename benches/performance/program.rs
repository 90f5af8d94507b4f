//! What this executable does when the bench, or overstep, starts it as the program to measure.

#![allow(unsafe_code, reason = "workloads are called by address")]

use std::fs;
use std::hint::black_box;

use crate::clock;
use crate::workload::{self, Workload};

/// The program named after `--program`, if any.
pub fn asked_for(arguments: &[String]) -> Option<String> {
    let [flag, name, ..] = arguments else { return None };
    (flag == "--program").then(|| name.clone())
}

/// Runs it; the third argument is how much of it. Results go to standard output, a number a line.
pub fn run(name: &str, arguments: &[String]) {
    let amount = arguments.get(2).and_then(|word| word.parse().ok()).unwrap_or(1);
    match name {
        "qsort" => call(&workload::qsort(amount)),
        "branchy" => call(&workload::branchy(amount)),
        "memory" => {
            let before = resident();
            call(&workload::branchy(amount));
            println!("{before}\n{}", resident());
        }
        "compute" => println!("{}", compute(amount)),
        "rest" => {
            call(&workload::branchy(1));
            let start = clock::of_this_process();
            black_box(compute(amount));
            println!("{}", clock::of_this_process() - start);
        }
        other => panic!("no program `{other}`"),
    }
}

fn call(workload: &Workload) {
    // SAFETY: the workloads of this crate take what they were built with.
    black_box(unsafe { (workload.entry)(workload.argument) });
}

/// Some 100 µs of arithmetic for each of `amount`.
fn compute(amount: usize) -> u64 {
    let mut state = 1_u64;
    for _ in 0..amount * 100_000 {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(state >> 33);
    }
    black_box(state)
}

/// VmRSS in KiB (`proc(5)`).
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0");
    line.trim().trim_end_matches(" kB").parse().unwrap_or(0)
}
