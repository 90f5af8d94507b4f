//! Random signals, threads, forks and jumps, while every way of stepping traces every `--into`. Output and status are as
//! untraced, no row is lost or unexplained, `overstep check` finds nothing, and in the long soak the program finds its
//! memory and its descriptors flat.
//!
//! `OVERSTEP_SOAK` sets the rows over all runs.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::program::Program;
use common::run::{native, traced};
use common::skip::{skip, traceable};
use common::way::{COUNTER, COUNTER_SIGTRAP, OTHERS, REFERENCE, Way};

const ROWS: u64 = 10_000_000;
/// Threads, and microseconds between two signals; none where it is 0.
const LOADS: [(&str, &str); 4] = [("1", "0"), ("2", "2000"), ("4", "0"), ("4", "5000")];

#[test]
#[ignore = "half an hour: cargo test --release --test soak -- --ignored --nocapture"]
fn random_signals_threads_and_forks() {
    let test = "random_signals_threads_and_forks";
    let Some(()) = traceable(test) else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let Some(path) = built(test, "soak.c", &[], directory.path()) else { return };
    let wanted = std::env::var("OVERSTEP_SOAK").ok().and_then(|rows| rows.parse().ok()).unwrap_or(ROWS);

    let (mut rows, mut runs) = (0, 0);
    for seed in 1_u32.. {
        for (threads, microseconds) in LOADS {
            let program = Program::new(&path, &[&seed.to_string(), "3", "5", threads, microseconds]);
            let untraced = native(&program);
            assert!(untraced.stdout.ends_with("descriptors flat, memory flat\n"), "{untraced:?}");
            let traced = traced_every_way(&program, directory.path());
            (rows, runs) = (rows + traced.0, runs + traced.1);
            println!(
                "seed {seed}, {threads} threads, {microseconds} µs: {rows} rows in {runs} runs so far, 0 findings"
            );
            if rows >= wanted {
                return;
            }
        }
    }
}

/// A signal is often waiting at a stop: it comes before the instruction there has run, or in place of the tracer's own.
#[test]
fn a_storm_of_signals() {
    let test = "a_storm_of_signals";
    let Some(()) = traceable(test) else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    for (flags, rounds, threads) in [(&[][..], "4", "1"), (&["-fno-plt"], "5", "3")] {
        let Some(path) = built(test, "storm.cpp", flags, directory.path()) else { return };
        let (rows, runs) =
            traced_every_way(&Program::new(&path, &[rounds, "600", threads]), directory.path());
        println!("{flags:?}, {threads} threads: {rows} rows in {runs} runs, 0 findings");
    }
}

/// The beginning of a handler that has nothing to deliver is counted, too; and a SIGTRAP of the program's may be all that
/// comes of an overflow.
#[test]
fn a_storm_of_signals_while_a_counter_runs() {
    let test = "a_storm_of_signals_while_a_counter_runs";
    let Some(()) = traceable(test) else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let Some(path) = built(test, "storm.cpp", &[], directory.path()) else { return };
    let program = Program::new(&path, &["6", "600", "2"]);
    let ways = [COUNTER, COUNTER_SIGTRAP].map(|way| traced_by(&program, way, "module", directory.path()));
    println!("{} rows in 2 runs, 0 findings", ways.iter().sum::<u64>());
}

/// A source of `fixtures/handler`, whose linkage table is bound while several threads are traced.
fn built(test: &str, source: &str, flags: &[&str], directory: &Path) -> Option<PathBuf> {
    let compiler = if source.ends_with(".cpp") { "g++" } else { "gcc" };
    let path = directory.join("program");
    let built = Command::new(compiler)
        .args(["-O1", "-pthread", "-Wl,-z,lazy"])
        .args(flags)
        .arg("-o")
        .arg(&path)
        .arg(format!("{}/fixtures/handler/{source}", env!("CARGO_MANIFEST_DIR")))
        .status();
    match built {
        Ok(status) if status.success() => Some(path),
        _ => skip(test, compiler),
    }
}

/// Traces `traced` in every way and with every `--into`, each run held against the untraced one: rows and runs.
fn traced_every_way(program: &Program, directory: &Path) -> (u64, u32) {
    let (mut rows, mut runs) = (0, 0);
    for into in ["module", "all", "none"] {
        for way in [REFERENCE].iter().chain(&OTHERS) {
            rows += traced_by(program, *way, into, directory);
            runs += 1;
        }
    }
    (rows, runs)
}

/// One run: its rows, when nothing is missing.
fn traced_by(program: &Program, way: Way, into: &str, directory: &Path) -> u64 {
    let run = traced(program, &["-f", "traced", "--into", into], way, directory);
    assert_eq!(run.outcome, native(program), "{} --into {into} {program:?}: {}", way.name, run.stderr);
    let summary = overstep::check::summary::Summary::of(&run.trace);
    assert_eq!(summary.entered, summary.traced, "{} --into {into} {program:?}", way.name);
    summary.steps
}
