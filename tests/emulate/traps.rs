//! SIGTRAP is the program's, although every step sends one; overstep's own tracer works under the emulator.

use std::process::Command;

use crate::support::{Fixture, assert_prints, emulate, run};

#[test]
fn an_ignored_sigtrap_stays_ignored() {
    let expected = "ignored 1\nstill 1\nset while counting 1\nbefore 1\n";
    assert_prints("traps", &[], &["ignored"], expected);
}

#[test]
fn a_trap_flag_of_the_programs_own_traps_once() {
    assert_prints("traps", &[], &["flag"], "traps 1 code 1\n");
}

#[test]
fn an_unhandled_sigtrap_kills() {
    let Some(program) = Fixture::build("traps") else { return };
    let killed = program.run(&[], &["default"]);
    // timeout(1) hands on what it was told, 128 + SIGTRAP.
    assert!(matches!(killed.status, None | Some(133)), "{killed:?}");
    assert_eq!(killed.stdout, "");
}

/// The listing's rows, without addresses that change from run to run.
fn rows(listing: &str) -> Vec<String> {
    let steps = listing.lines().filter(|line| {
        line.contains("gcd+0x") && line.trim_start().starts_with(|c: char| c.is_ascii_digit())
    });
    steps.map(|line| line.split_whitespace().take(5).collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn overstep_traces_a_counted_program_as_it_would_an_uncounted_one() {
    let Some(program) = Fixture::build("counted_gcd") else { return };
    let trace = |command: &mut Command, engine: &str| {
        command.args(["trace", "-q", "--engine", engine, "-f", "gcd", "--"]).arg(&program.path);
        run(command)
    };
    let overstep = env!("CARGO_BIN_EXE_overstep");
    if !overstep::can_trace() {
        println!("SKIP tracing under emulate: breakpoint events are refused here");
        return;
    }
    let listings = ["breakpoint", "trap-flag"].map(|engine| {
        let mut command = emulate(&[]);
        command.arg(overstep);
        let traced = trace(&mut command, engine);
        assert_eq!(traced.status, Some(7), "{engine}: {traced:?}");
        assert!(traced.stdout.starts_with("6 counted 1\n"), "{engine}: {}", traced.stdout);
        rows(&traced.stdout)
    });
    assert_eq!(listings[0].len(), 26, "{:#?}", listings[0]);
    assert_eq!(listings[0], listings[1]);
}
