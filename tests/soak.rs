//! A soak: random signals, threads, forks and jumps, seeded, while every way of stepping traces every `--into`. Output and
//! status are as untraced, no row is lost or unexplained, `overstep check` finds nothing, and the program finds its memory
//! and its descriptors flat.
//!
//! `OVERSTEP_SOAK` sets the rows over all runs.

mod common;

use std::process::Command;

use common::program::Program;
use common::run::{native, traced};
use common::skip::{skip, traceable};
use common::way::{OTHERS, REFERENCE};

const ROWS: u64 = 10_000_000;
/// Threads, and microseconds between two signals; none where it is 0.
const LOADS: [(&str, &str); 4] = [("1", "0"), ("2", "2000"), ("4", "0"), ("4", "5000")];

#[test]
#[ignore = "half an hour: cargo test --release --test soak -- --ignored --nocapture"]
fn random_signals_threads_and_forks() {
    let test = "random_signals_threads_and_forks";
    let Some(()) = traceable(test) else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("soak");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/handler/soak.c");
    // Bound before it starts: a slot of the linkage table that another thread binds makes a prediction wrong.
    let built =
        Command::new("gcc").args(["-O1", "-pthread", "-Wl,-z,now", "-o"]).arg(&path).arg(source).status();
    let Ok(true) = built.map(|status| status.success()) else { return skip(test, "gcc").unwrap_or_default() };
    let wanted = std::env::var("OVERSTEP_SOAK").ok().and_then(|rows| rows.parse().ok()).unwrap_or(ROWS);

    let (mut rows, mut runs) = (0, 0);
    for seed in 1_u32.. {
        for (threads, microseconds) in LOADS {
            let program = Program::new(&path, &[&seed.to_string(), "3", "5", threads, microseconds]);
            let untraced = native(&program);
            assert!(untraced.stdout.ends_with("descriptors flat, memory flat\n"), "{untraced:?}");
            for into in ["module", "all", "none"] {
                for way in [REFERENCE].iter().chain(&OTHERS) {
                    let run = traced(&program, &["-f", "traced", "--into", into], *way, directory.path());
                    assert_eq!(
                        run.outcome, untraced,
                        "{} --into {into} {program:?}: {}",
                        way.name, run.stderr
                    );
                    rows += overstep::check::summary::Summary::of(&run.trace).steps;
                    runs += 1;
                }
            }
            println!(
                "seed {seed}, {threads} threads, {microseconds} µs: {rows} rows in {runs} runs so far, 0 findings"
            );
            if rows >= wanted {
                return;
            }
        }
    }
}
