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
fn instructions_that_load_the_flags_are_run_like_any_other() {
    let expected = "\
popfw 3
popfq 3
rep-popfq 3
iretq 11
traps 6 of them by the flag 6
iretq: traps 11 of them by the flag 11
";
    assert_prints("popped", &[], &[], expected);
}

#[test]
fn a_blocked_sigtrap_that_is_taken_off_the_queue_makes_room_for_the_next() {
    let expected = "\
taken 5 code 6 data 1234 flags 1
taken 5 code 0 data 0 flags 0
taken 5 code 6 data 1234 flags 1
signalfd 128 signo 5 code 6 pid 0
own 5 code 0 from itself
own 5 code 0 from itself
after ignoring 0
at last 1
";
    assert_prints("trap_taken", &[], &[], expected);
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
