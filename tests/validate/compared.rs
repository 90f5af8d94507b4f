//! `overstep validate compare`.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{run, validate};

fn sample(kernel: &str) -> Value {
    let row = |event: &str, delivery: &str, control: Value, synchronous: bool| {
        json!({"event": event, "precise": 0, "delivery": delivery, "control": control, "outcome": "pass",
            "synchronous": synchronous, "signals": 20_000, "at_expected": if synchronous { 20_000 } else { 9_000 }})
    };
    json!({"version": 1, "overstep": "0.1.0", "depth": "default", "partial": false, "trusted": true,
        "machine": {"kernel": kernel, "cpu": {"vendor": "GenuineIntel", "name": "Xeon", "family": 6, "model": 143,
            "stepping": 8, "microcode": "0x1", "user_shadow_stack": false, "hypervisor": null}, "hz": 1000,
            "measured_cpu": null, "online": "0-3", "sysctls": {}, "pmus": [], "emulated": null, "traced_by": null},
        "results": [
            row("breakpoint", "sigtrap", json!("synchronous"), true),
            row("cpu-clock", "fasync", json!("asynchronous"), false),
            row("instructions", "fasync", Value::Null, true),
        ],
        "checks": [{"group": "delivery", "name": "breakpoint: REFRESH(5)", "outcome": "pass", "text": "4 × POLL_IN, 1 × POLL_HUP",
            "figures": {}}]})
}

fn write(directory: &Path, name: &str, report: &Value) -> PathBuf {
    let path = directory.join(name);
    std::fs::write(&path, report.to_string()).expect("the report is written");
    path
}

/// Status and output of comparing 6.12 with a 6.18 that `change` was done to.
fn compared(change: impl FnOnce(&mut Value)) -> (Option<i32>, String) {
    let directory = tempfile::tempdir().expect("a directory");
    let mut later = sample("6.18.0");
    change(&mut later);
    let (a, b) =
        (write(directory.path(), "a.json", &sample("6.12.0")), write(directory.path(), "b.json", &later));
    let (status, stdout, stderr) = run(validate(&["compare"]).arg(a).arg(b));
    assert_eq!(stderr, "");
    (status, stdout)
}

#[test]
fn equal_reports_hold() {
    let (status, stdout) = compared(|_| {});
    assert_eq!(status, Some(0), "{stdout}");
    assert!(stdout.contains("Linux 6.12.0") && stdout.contains("Linux 6.18.0"), "{stdout}");
    assert!(stdout.contains("5 lines compared, 0 differ, 0 worse."), "{stdout}");
}

#[test]
fn what_got_worse_is_named_and_fails() {
    let (status, stdout) = compared(|later| {
        later["results"][2]["synchronous"] = json!(false);
        later["results"][2]["at_expected"] = json!(19_000);
    });
    assert_eq!(status, Some(1), "{stdout}");
    let line = stdout.lines().find(|line| line.contains("instructions/fasync")).expect("the line");
    assert!(
        line.contains("synchronous") && line.contains("asynchronous") && line.ends_with("REGRESSION"),
        "{line}"
    );
    let bug = |later: &mut Value| {
        later["checks"][0]["outcome"] = json!("known-kernel-bug");
        later["checks"][0]["reason"] = json!("poll-hup-lost");
    };
    assert_eq!(compared(bug).0, Some(1));
    assert_eq!(compared(|later| later["trusted"] = json!(false)).0, Some(1));
}

#[test]
fn what_is_not_there_is_different_and_no_failure() {
    let (status, stdout) = compared(|later| {
        later["results"][2]["outcome"] = json!("skip");
        later["results"][2]["reason"] = json!("ENOENT (2), no PMU here");
        later["results"][2]["synchronous"] = Value::Null;
    });
    assert_eq!(status, Some(0), "{stdout}");
    assert!(stdout.contains("different"), "{stdout}");
}
