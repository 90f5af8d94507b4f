//! The instrument is calibrated: under the software PMU it recovers what was injected.
//!
//! `OVERSTEP_EMULATOR` names the executable whose `emulate` is used; without it, the one under test.

use std::ffi::OsString;
use std::process::Command;

use overstep::precision::judge::statistics::chi_squared;
use serde_json::{Value, json};

use crate::support::{report, rows, run, skip};

fn emulator() -> OsString {
    std::env::var_os("OVERSTEP_EMULATOR").unwrap_or_else(|| env!("CARGO_BIN_EXE_overstep").into())
}

/// `validate`'s report under this model; `None` after saying why there is none.
fn under(test: &str, model: &[&str], delivery: &str) -> Option<Value> {
    at_class(test, model, delivery, "none")
}

/// The same, at this class of instruction, too.
fn at_class(test: &str, model: &[&str], delivery: &str, class: &str) -> Option<Value> {
    if !overstep::can_trace() {
        skip(test, "breakpoint events do not work here");
        return None;
    }
    let known = Command::new(emulator()).args(["emulate", "--help"]).output();
    if !known.is_ok_and(|help| help.status.success()) {
        skip(test, "this build has no `overstep emulate`");
        return None;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let json = directory.path().join("r.json");
    let mut command = Command::new(emulator());
    command.args(["emulate", "-q"]).args(model).arg("--").arg(env!("CARGO_BIN_EXE_overstep"));
    command.args([
        "validate",
        "--quick",
        "--event",
        "instructions",
        "--delivery",
        delivery,
        "--signals",
        "300",
        "--class",
        class,
    ]);
    let (status, stdout, stderr) = run(command.arg("--json").arg(&json));
    assert!(matches!(status, Some(0 | 1)), "{status:?} {stdout}{stderr}");
    let report = report(&json);
    assert_eq!(report["trusted"], json!(true), "{stdout}");
    assert!(report["machine"]["emulated"].is_string(), "{stdout}");
    Some(report)
}

/// The event's own loop, of nops.
fn nops<'a>(report: &'a Value, delivery: &str) -> &'a Value {
    let row = rows(report).iter().find(|row| row["event"] == "instructions" && row["delivery"] == delivery);
    row.expect("a row")
}

fn skids(class: &Value) -> Vec<u64> {
    let skid = class["figures"]["skid"].as_object().expect("a histogram");
    let most =
        skid.keys().map(|key| key.parse::<usize>().expect("a distance, none negative")).max().unwrap_or(0);
    (0..=most).map(|n| skid.get(&n.to_string()).and_then(Value::as_u64).unwrap_or(0)).collect()
}

#[test]
#[ignore = "a minute of single steps on a busy machine: -- --ignored"]
fn no_skid_is_found_where_none_is_injected() {
    for delivery in ["fasync", "sigtrap"] {
        let Some(report) = under("no_skid_is_found_where_none_is_injected", &[], delivery) else { return };
        let class = nops(&report, delivery);
        assert_eq!(class["at_expected"], class["signals"], "{class}");
    }
}

#[test]
fn a_fixed_skid_is_recovered() {
    let Some(report) = under("a_fixed_skid_is_recovered", &["--skid", "3"], "fasync") else { return };
    let class = nops(&report, "fasync");
    assert_eq!(
        skids(class).iter().enumerate().filter(|(_, times)| **times > 0).map(|(n, _)| n).collect::<Vec<_>>(),
        [3]
    );
}

#[test]
#[ignore = "a minute of single steps on a busy machine: -- --ignored"]
fn a_uniform_skid_is_recovered() {
    let model = ["--skid", "uniform:0-4", "--seed", "7"];
    let Some(report) = under("a_uniform_skid_is_recovered", &model, "fasync") else { return };
    let mut seen = skids(nops(&report, "fasync"));
    assert_eq!(seen.len(), 5, "{seen:?}");
    seen.resize(5, 0);
    let each = seen.iter().sum::<u64>() as f64 / 5.0;
    assert!(chi_squared(&seen, &[each; 5]).expect("enough signals") > 0.001, "{seen:?}");
}

#[test]
#[ignore = "a minute of single steps on a busy machine: -- --ignored"]
fn a_geometric_skid_is_recovered() {
    let model = ["--skid", "geometric:0.5", "--seed", "7"];
    let Some(report) = under("a_geometric_skid_is_recovered", &model, "fasync") else { return };
    let mut seen = skids(nops(&report, "fasync"));
    let total = seen.iter().sum::<u64>() as f64;
    seen.resize(seen.len().max(24), 0);
    let wanted: Vec<f64> = (1..=seen.len() as i32).map(|n| total * 0.5f64.powi(n)).collect();
    assert!(chi_squared(&seen, &wanted).expect("enough signals") > 0.001, "{seen:?}");
}

#[test]
fn lost_signals_are_missed() {
    let Some(report) = under("lost_signals_are_missed", &["--lose", "0.2"], "sigtrap") else { return };
    let figures = &nops(&report, "sigtrap")["figures"];
    let (asked, lost) = (figures["asked"].as_u64().unwrap(), figures["lost"].as_u64().unwrap());
    // One in five, with a thousandth of a chance to be further off.
    let seen = [lost, asked - lost];
    assert!(
        chi_squared(&seen, &[asked as f64 * 0.2, asked as f64 * 0.8]).unwrap() > 0.001,
        "{lost} of {asked}"
    );
}

fn check<'a>(report: &'a Value, name: &str) -> &'a Value {
    let checks = report["checks"].as_array().expect("checks are a list");
    checks.iter().find(|check| check["name"] == name).expect("the check ran")
}

#[test]
#[ignore = "a minute of single steps on a busy machine: -- --ignored"]
fn counting_too_much_is_recovered() {
    let Some(report) = under("counting_too_much_is_recovered", &["--overcount", "1000"], "fasync") else {
        return;
    };
    let figures = &check(&report, "instructions, without signals")["figures"];
    let (expected, over) = (figures["expected"].as_i64().unwrap(), figures["over"].as_i64().unwrap());
    assert!((over - expected / 1_000).abs() <= 1, "{figures}");
    // What is counted too much is no skid.
    let row = nops(&report, "fasync");
    assert_eq!(row["at_expected"], row["signals"], "{row}");
}

#[test]
fn the_smallest_period_and_the_tail_are_found() {
    let Some(report) =
        under("the_smallest_period_and_the_tail_are_found", &["--min-period", "200"], "fasync")
    else {
        return;
    };
    assert_eq!(check(&report, "smallest period of instructions")["figures"]["accepted"], json!(200));
    let tail = |report: &Value| check(report, "handler tail")["figures"]["tail"].as_i64().unwrap();
    let without = tail(&report);
    let Some(report) = under("the_smallest_period_and_the_tail_are_found", &["--iret-counts"], "fasync")
    else {
        return;
    };
    assert_eq!(tail(&report), without + 1, "the return from the handler is one more");
}

#[test]
#[ignore = "a minute of single steps on a busy machine: -- --ignored"]
fn a_lost_hang_up_is_seen() {
    let Some(report) = under("a_lost_hang_up_is_seen", &["--hup-bug"], "fasync") else { return };
    let five = check(&report, "instructions: REFRESH(5)");
    // On a kernel that is not known for it, it is a failure.
    assert!(["fail", "known-kernel-bug"].contains(&five["outcome"].as_str().unwrap()), "{five}");
    assert_eq!(five["text"], "5 × POLL_IN");
    let Some(report) = under("a_lost_hang_up_is_seen", &[], "fasync") else { return };
    assert_eq!(check(&report, "instructions: REFRESH(5)")["text"], "4 × POLL_IN, 1 × POLL_HUP");
}

#[test]
#[ignore = "a minute of single steps on a busy machine: -- --ignored"]
fn fused_instructions_are_seen_to_retire_together() {
    const NAME: &str = "fused_instructions_are_seen_to_retire_together";
    let fused = |report: &Value| nops(report, "fasync")["classes"][0].clone();
    let Some(report) = at_class(NAME, &["--fuse"], "fasync", "fused cmp+jcc") else { return };
    let class = fused(&report);
    // An overflow at the first of the two stops behind the second: one instruction late, one in the loop's six.
    let seen = skids(&class);
    assert_eq!(seen.len(), 2, "{class}");
    let total = (seen[0] + seen[1]) as f64;
    assert!(
        chi_squared(&seen, &[total * 5.0 / 6.0, total / 6.0]).expect("enough signals") > 0.001,
        "{seen:?}"
    );
    let Some(report) = at_class(NAME, &[], "fasync", "fused cmp+jcc") else { return };
    let class = fused(&report);
    assert_eq!(class["at_expected"], class["signals"], "{class}");
}

#[test]
#[ignore = "a minute of single steps on a busy machine: -- --ignored"]
fn throttling_is_seen() {
    let seen = |report: &Value| {
        let figures = &check(report, "throttling of instructions")["figures"];
        (figures["signals"].as_i64().unwrap(), figures["asked"].as_i64().unwrap())
    };
    let Some(report) = under("throttling_is_seen", &[], "fasync") else { return };
    let (signals, asked) = seen(&report);
    assert!(signals >= asked && asked >= 20, "{signals} of {asked}");
    // Five in 10,000 instructions, of overflows that come every 561 and more.
    let Some(report) = under("throttling_is_seen", &["--throttle", "5"], "fasync") else { return };
    let (signals, asked) = seen(&report);
    assert!(signals < asked, "{signals} of {asked}");
}
