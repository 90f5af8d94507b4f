//! The `instructions` engine under a software PMU: the same rows as the breakpoint engine where signals come at once,
//! and where they do not, verdicts that say what the model did.

mod agent_support;
mod common;

use std::process::Command;

use agent_support::agent;
use common::fixture::Fixture;
use common::judge::References;
use common::program::Program;
use common::skip::traceable;
use common::way::{COUNTER, COUNTER_SIGTRAP, Way};
use serde_json::Value;
use tempfile::TempDir;

/// Every case of the fixture, in both deliveries, row by row against breakpoint/sigtrap.
fn agrees(file: &str) {
    if traceable(file).is_none() {
        return;
    }
    let fixture = Fixture::read(file);
    for built in fixture.build(file) {
        for case in &fixture.cases {
            let options: Vec<&str> = case.options.iter().map(String::as_str).collect();
            let program = Program::new(&built.path, &[]);
            let mut references = References::new(&program, &options, built.directory());
            for way in [COUNTER, COUNTER_SIGTRAP] {
                let described = format!("{file} {options:?} by {}", way.name);
                let (run, _) = references.against(way).unwrap_or_else(|error| panic!("{described}: {error}"));
                for expectation in &case.expectations {
                    expectation.assert(&run.trace, &built.path, &described);
                }
            }
        }
    }
}

macro_rules! fixtures {
    ($($name:ident: $file:literal,)*) => {
        $(#[test] fn $name() { agrees($file); })*
    };
}

fixtures! {
    call_pop: "call_pop.s",
    conditions: "conditions.s",
    flags: "flags.s",
    handlers: "handlers.s",
    indirect: "indirect.s",
    recursion: "recursion.c",
    returns: "returns.s",
    strings: "strings.s",
    syscalls: "syscalls.s",
    tail_call: "tail_call.s",
}

/// Traces `conditions.s` by the counter of a PMU of this model: its JSON lines, and standard error.
fn on_model(model: &'static [&'static str], more: &[&str]) -> Option<(Vec<Value>, String)> {
    traceable("a model")?;
    agent("a model")?;
    let file = "conditions.s";
    let built = Fixture::read(file).build(file).into_iter().next()?;
    let overstep = env!("CARGO_BIN_EXE_overstep");
    let Way { options, .. } = COUNTER;
    let mut command = Command::new(overstep);
    command.args(["emulate", "--quiet"]).args(model).args(["--", overstep, "trace"]).args(options).args(more);
    command.args(["-f", "traced", "--format", "json", "--"]).arg(&built.path);
    let output = command.output().expect("overstep starts");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let lines = text.lines().filter(|line| line.starts_with('{'));
    Some((lines.map(|line| serde_json::from_str(line).expect("JSON")).collect(), stderr))
}

fn verdicts(lines: &[Value]) -> Vec<String> {
    let steps = lines.iter().filter(|line| line["type"] == "step");
    let verdict = |step: &Value| {
        let name = step["verdict"].as_str().expect("a verdict");
        step["late"].as_u64().map_or_else(|| name.to_owned(), |skid| format!("{name}({skid})"))
    };
    steps.map(verdict).collect()
}

fn summary(lines: &[Value]) -> &Value {
    lines.iter().find(|line| line["type"] == "summary").expect("a summary")
}

#[test]
fn a_constant_skid_shows_at_every_stop() {
    let Some((lines, stderr)) = on_model(&["--skid", "2"], &[]) else { return };
    assert!(stderr.contains("went 1 on in 0 of"), "calibration must have seen it: {stderr}");
    let seen = verdicts(&lines);
    let judged: Vec<_> = seen.iter().skip(1).filter(|verdict| *verdict != "reconstructed").collect();
    assert!(judged.len() > 20, "{seen:?}");
    // A skid ends at a system call, and the call's end is a breakpoint's.
    let skidded = judged.iter().filter(|verdict| verdict.as_str() == "skid(2)").count();
    assert!(skidded * 10 >= judged.len() * 9, "{judged:?}");
    assert!(seen.iter().filter(|verdict| *verdict == "reconstructed").count() >= 2 * skidded - 2, "{seen:?}");
}

#[test]
fn a_period_of_three_stops_at_every_third_instruction() {
    let Some((lines, _)) = on_model(&[], &["--period", "3"]) else { return };
    let seen = verdicts(&lines);
    let every_third = seen.iter().step_by(3).filter(|verdict| *verdict == "exact").count();
    assert_eq!(every_third, seen.len().div_ceil(3), "{seen:?}");
    assert_eq!(seen.iter().filter(|verdict| *verdict == "exact").count(), every_third, "{seen:?}");
}

#[test]
fn a_lost_signal_is_never_a_leave() {
    let Some((lines, _)) = on_model(&["--lose", "0.02", "--seed", "3"], &[]) else { return };
    let found = summary(&lines);
    assert!(found["lost"].as_u64() > Some(0), "{found}");
    assert_eq!(found["unexplained"], 0, "{found}");
}

#[test]
fn a_tail_that_counts_iret_is_found() {
    let Some((lines, stderr)) = on_model(&["--iret-counts"], &[]) else { return };
    assert!(stderr.contains("went 1 on in 47 of 47 steps"), "{stderr}");
    assert_eq!(summary(&lines)["skid"], 0);
}

#[test]
fn without_a_pmu_the_engine_says_so() {
    let directory = TempDir::new().expect("a temporary directory");
    let mut command = Command::new(env!("CARGO_BIN_EXE_overstep"));
    command.args(["trace", "--engine", "instructions", "-f", "main", "-o"]).arg(directory.path().join("t"));
    let output = command.args(["--", "/bin/sh", "-c", "true"]).output().expect("overstep starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    if output.status.success() || !stderr.contains("instruction counter") {
        println!(
            "SKIP without_a_pmu_the_engine_says_so: this machine has a PMU, or /bin/sh no `main`: {stderr}"
        );
        return;
    }
    assert_eq!(output.status.code(), Some(125));
    assert!(stderr.contains("ENOENT (2), no PMU here"), "{stderr}");
}
