//! The same rows in every way of stepping, on functions of programs that no one here wrote.
//!
//! `OVERSTEP_STEPS` sets the steps per program and way: a few thousand otherwise, a million where the proof is wanted.

mod common;

use common::judge::References;
use common::run::native;
use common::skip::traceable;
use common::way::{BLOCK, OTHERS, Way};
use common::work::{APT, BASH, GIT, PERL, PYTHON, SQLITE, Work, each_work};
use tempfile::TempDir;

/// Steps per program and way.
const STEPS: u64 = 4_000;
/// Of the ignored variants, in block mode alone.
const MANY_STEPS: u64 = 10_000_000;

/// Traces `work` in each of `ways` and holds them against the reference.
fn agree(test: &str, work: &Work, steps: u64, ways: &[Way]) {
    let Some(()) = traceable(test) else { return };
    let directory = TempDir::new().expect("a temporary directory");
    let Some(program) = work.prepare(test, steps, &directory) else { return };
    let calls = (steps / work.a_call + 1).to_string();
    let limit = steps.to_string();
    let options =
        ["-f", work.function, "--nth", work.nth, "--calls", &calls, "--into", "all", "--max-steps", &limit];
    let untraced = native(&program);
    assert!(untraced.status.success(), "{program:?}: {untraced:?}");

    let mut references = References::new(&program, &options, directory.path());
    for way in ways {
        let (run, agreement) = references.against(*way).unwrap_or_else(|difference| {
            panic!("{test} by {}, {options:?}, {program:?}: {difference}", way.name)
        });
        assert_eq!(run.outcome, untraced, "{test} by {}: output and status", way.name);
        println!(
            "{test} by {}: {} rows and {} values alike, {} values vary by themselves{}",
            way.name,
            agreement.rows,
            agreement.values,
            agreement.varying,
            agreement.first_varying.map_or_else(String::new, |first| format!(", first {first}")),
        );
        assert!(
            agreement.rows * 2 >= steps,
            "{test}: only {} rows: the program is too short",
            agreement.rows
        );
    }
    assert_eq!(references.first().outcome, untraced, "{test} by the reference: output and status");
}

fn steps() -> u64 {
    match std::env::var("OVERSTEP_STEPS") {
        Ok(text) => text.parse().expect("OVERSTEP_STEPS is a number"),
        Err(_) => STEPS,
    }
}

macro_rules! programs {
    ($($name:ident $many:ident: $work:ident,)*) => {$(
        #[test]
        fn $name() {
            agree(stringify!($name), &$work, steps(), &OTHERS);
        }

        #[test]
        #[ignore = "ten million steps, minutes"]
        fn $many() {
            agree(stringify!($many), &$work, MANY_STEPS, &[BLOCK]);
        }
    )*};
}

each_work!(programs);
