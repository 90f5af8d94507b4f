//! What the engine cannot do is said with the number, the cause and what to do next.

use std::process::Command;

use crate::common::skip::skip;

const OVERSTEP: &str = env!("CARGO_BIN_EXE_overstep");

/// `overstep trace OPTIONS -f main -- /bin/sh -c true`, by itself or under a model: standard error, of a run that is
/// refused.
#[track_caller]
fn refused(model: Option<&[&str]>, options: &[&str]) -> String {
    let mut command = Command::new("timeout");
    command.args(["60", OVERSTEP]);
    if let Some(model) = model {
        command.args(["emulate", "-q"]).args(model).args(["--", OVERSTEP]);
    }
    command.arg("trace").args(options).args([
        "-f",
        "main",
        "--",
        env!("CARGO_BIN_EXE_overstep"),
        "--version",
    ]);
    let output = command.output().expect("timeout starts");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(125), 0), "{options:?}: {stderr}");
    stderr
}

const COUNTER: [&str; 2] = ["--engine", "instructions"];

#[test]
fn without_a_pmu_the_engine_says_so() {
    let has_one = std::path::Path::new("/sys/bus/event_source/devices/cpu").exists();
    if has_one || !overstep::can_trace() {
        let _: Option<()> =
            skip("without_a_pmu_the_engine_says_so", "this machine has a PMU, or refuses breakpoints");
        return;
    }
    for (event, name) in [("instructions", "the instruction counter"), ("branches", "a counter of branches")]
    {
        let stderr = refused(None, &[&COUNTER[..], &["--event", event]].concat());
        assert!(stderr.contains(&format!("cannot open {name}: ENOENT (2), no PMU here")), "{stderr}");
        assert!(stderr.contains("use --engine breakpoint"), "{stderr}");
    }
}

#[test]
fn an_event_goes_with_the_engine_that_counts() {
    for engine in [&[][..], &["--engine", "breakpoint"], &["--engine", "trap-flag"]] {
        let stderr = refused(None, &[engine, &["--event", "branches"]].concat());
        assert!(stderr.contains("--event branches is of the instructions engine"), "{stderr}");
        assert!(stderr.contains("pass --engine instructions"), "{stderr}");
    }
}

#[test]
fn an_unknown_event_gets_the_names() {
    let stderr = refused(None, &[&COUNTER[..], &["--event", "branchs"]].concat());
    assert!(stderr.contains("did you mean branches?"), "{stderr}");
    let stderr = refused(None, &[&COUNTER[..], &["--event", "page-faults"]].concat());
    assert!(stderr.contains("A counter counts instructions, branches, cycles or rNNNN"), "{stderr}");
}

#[test]
fn a_period_of_nothing_is_refused() {
    let stderr = refused(None, &[&COUNTER[..], &["--period", "0"]].concat());
    assert!(stderr.contains("a period of 0 would never overflow"), "{stderr}");
}

#[test]
fn an_event_that_the_pmu_lacks_is_told_from_no_pmu() {
    if !overstep::can_trace() {
        let _: Option<()> = skip("an_event_that_the_pmu_lacks", "breakpoint events do not work here");
        return;
    }
    let stderr = refused(Some(&[]), &[&COUNTER[..], &["--event", "rfff"]].concat());
    assert!(
        stderr.contains("cannot open a counter of rfff: ENOENT (2), the PMU here does not count that event"),
        "{stderr}"
    );
    assert!(stderr.contains("ask for an event that this PMU has"), "{stderr}");
}

#[test]
fn a_period_that_the_cpu_refuses_names_the_smallest() {
    if !overstep::can_trace() {
        let _: Option<()> = skip("a_period_that_the_cpu_refuses", "breakpoint events do not work here");
        return;
    }
    let stderr = refused(Some(&["--min-period", "2345"]), &COUNTER);
    assert!(stderr.contains("EINVAL (22), this CPU's smallest period is 2345"), "{stderr}");
}
