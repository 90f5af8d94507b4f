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

/// What of `validate` a test runs: beside the controls, instructions by one delivery, and these.
struct Part<'a> {
    test: &'a str,
    delivery: &'a str,
    signals: &'a str,
    class: &'a str,
    checks: &'a [&'a str],
}

impl<'a> Part<'a> {
    /// As many signals as a histogram needs, at the event's own loop.
    const fn row(test: &'a str, delivery: &'a str) -> Self {
        Self { test, delivery, signals: "150", class: "none", checks: &["none"] }
    }

    /// These checks, and hardly a row.
    const fn checks(test: &'a str, checks: &'a [&'a str]) -> Self {
        Self { signals: "10", checks, ..Self::row(test, "fasync") }
    }

    /// `validate`'s report of instructions under this model; `None` after saying why there is none.
    fn under(&self, model: &[&str]) -> Option<Value> {
        self.of("instructions", model)
    }

    /// The same of other events.
    fn of(&self, events: &str, model: &[&str]) -> Option<Value> {
        if !overstep::can_trace() {
            skip(self.test, "breakpoint events do not work here");
            return None;
        }
        let known = Command::new(emulator()).args(["emulate", "--help"]).output();
        if !known.is_ok_and(|help| help.status.success()) {
            skip(self.test, "this build has no `overstep emulate`");
            return None;
        }
        let directory = tempfile::tempdir().expect("a directory");
        let json = directory.path().join("r.json");
        let mut command = Command::new(emulator());
        command.args(["emulate", "-q"]).args(model).arg("--").arg(env!("CARGO_BIN_EXE_overstep"));
        command.args(["validate", "--quick", "--event", events, "--delivery", self.delivery]);
        command.args(["--signals", self.signals, "--class", self.class]);
        command.args(self.checks.iter().flat_map(|check| ["--check", check]));
        let (status, stdout, stderr) = run(command.arg("--json").arg(&json));
        assert!(matches!(status, Some(0 | 1)), "{status:?} {stdout}{stderr}");
        let report = report(&json);
        assert_eq!(report["trusted"], json!(true), "{stdout}");
        assert!(report["machine"]["emulated"].is_string(), "{stdout}");
        Some(report)
    }
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

/// The places at which there is any.
fn places(row: &Value) -> Vec<usize> {
    skids(row).iter().enumerate().filter(|(_, times)| **times > 0).map(|(skid, _)| skid).collect()
}

fn check<'a>(report: &'a Value, name: &str) -> &'a Value {
    let checks = report["checks"].as_array().expect("checks are a list");
    checks.iter().find(|check| check["name"] == name).expect("the check ran")
}

#[test]
fn no_skid_is_found_where_none_is_injected() {
    const NAME: &str = "no_skid_is_found_where_none_is_injected";
    for delivery in ["fasync", "sigtrap"] {
        let Some(report) = Part::row(NAME, delivery).under(&[]) else { return };
        let row = nops(&report, delivery);
        assert_eq!((&row["at_expected"], &row["outcome"]), (&row["signals"], &json!("pass")), "{row}");
    }
}

#[test]
fn a_fixed_skid_is_recovered() {
    const NAME: &str = "a_fixed_skid_is_recovered";
    // The first period that is tried is 61: the longer ones are reached by it. Twelve reach the call behind the loop.
    for (skid, delivery) in [("3", "fasync"), ("62", "fasync"), ("70", "sigtrap"), ("12", "sigtrap")] {
        let Some(report) = Part { signals: "40", ..Part::row(NAME, delivery) }.under(&["--skid", skid])
        else {
            return;
        };
        let row = nops(&report, delivery);
        assert_eq!((places(row), &row["outcome"]), (vec![skid.parse().unwrap()], &json!("pass")), "{row}");
    }
}

#[test]
fn a_uniform_skid_is_recovered() {
    let part = Part::row("a_uniform_skid_is_recovered", "fasync");
    let Some(report) = part.under(&["--skid", "uniform:0-4", "--seed", "7"]) else { return };
    let mut seen = skids(nops(&report, "fasync"));
    assert_eq!(seen.len(), 5, "{seen:?}");
    seen.resize(5, 0);
    let each = seen.iter().sum::<u64>() as f64 / 5.0;
    assert!(chi_squared(&seen, &[each; 5]).expect("enough signals") > 0.001, "{seen:?}");
}

#[test]
fn a_geometric_skid_is_recovered() {
    let part = Part::row("a_geometric_skid_is_recovered", "fasync");
    let Some(report) = part.under(&["--skid", "geometric:0.5", "--seed", "7"]) else { return };
    let mut seen = skids(nops(&report, "fasync"));
    let total = seen.iter().sum::<u64>() as f64;
    seen.resize(seen.len().max(24), 0);
    let wanted: Vec<f64> = (1..=seen.len() as i32).map(|n| total * 0.5f64.powi(n)).collect();
    assert!(chi_squared(&seen, &wanted).expect("enough signals") > 0.001, "{seen:?}");
}

#[test]
fn lost_signals_are_missed() {
    let Some(report) = Part::row("lost_signals_are_missed", "sigtrap").under(&["--lose", "0.2"]) else {
        return;
    };
    let row = nops(&report, "sigtrap");
    let figures = &row["figures"];
    let (asked, lost) = (figures["asked"].as_u64().unwrap(), figures["lost"].as_u64().unwrap());
    // One in five, with a thousandth of a chance to be further off.
    let seen = [lost, asked - lost];
    assert!(
        chi_squared(&seen, &[asked as f64 * 0.2, asked as f64 * 0.8]).unwrap() > 0.001,
        "{lost} of {asked}"
    );
    assert_eq!((places(row), &row["outcome"]), (vec![0], &json!("fail")), "a loss is no skid: {row}");
}

#[test]
fn counting_too_much_is_recovered_and_is_no_skid() {
    const NAME: &str = "counting_too_much_is_recovered_and_is_no_skid";
    const CHECKS: [&str; 3] = ["instructions, without signals", "branches, without signals", "handler tail"];
    for (every, delivery) in [(500, "sigtrap"), (777, "sigtrap"), (500, "fasync")] {
        let part = Part { checks: &CHECKS, ..Part::row(NAME, delivery) };
        let Some(report) = part.under(&["--overcount", &every.to_string()]) else { return };
        let instructions = check(&report, CHECKS[0]);
        let figures = &instructions["figures"];
        let (expected, over) = (figures["expected"].as_i64().unwrap(), figures["over"].as_i64().unwrap());
        assert!((over - expected / every).abs() <= 1, "{figures}");
        for name in CHECKS {
            assert_eq!(check(&report, name)["outcome"], "pass", "{}", check(&report, name));
        }
        let row = nops(&report, delivery);
        assert_eq!(row["at_expected"], row["signals"], "{row}");
    }
}

#[test]
fn counts_with_signals_are_exact_and_have_the_residue_of_each() {
    const NAME: &str = "counts_with_signals_are_exact_and_have_the_residue_of_each";
    const CHECKS: [&str; 2] = ["instructions, with signals", "branches, with signals"];
    // The return from an interrupt is an instruction, and none that the emulator counts as a branch.
    for (model, each) in [(&[] as &[&str], [0, 0]), (&["--iret-counts"], [1, 0]), (&["--skid", "40"], [0, 0])]
    {
        let Some(report) = Part::checks(NAME, &CHECKS).under(model) else { return };
        for (name, each) in CHECKS.into_iter().zip(each) {
            let count = check(&report, name);
            let figure = |name: &str| count["figures"][name].as_i64().unwrap();
            assert_eq!(figure("over"), each * figure("signals"), "{model:?} {count}");
            assert!(figure("signals") >= 15 && count["outcome"] == "pass", "{count}");
        }
    }
}

#[test]
fn every_event_says_poll_hup_at_its_limit() {
    const NAME: &str = "every_event_says_poll_hup_at_its_limit";
    const CHECKS: [&str; 9] = [
        "instructions: REFRESH(1)",
        "instructions: REFRESH(5)",
        "instructions: ENABLE",
        "branches: REFRESH(1)",
        "branches: REFRESH(5)",
        "branches: ENABLE",
        "cycles: REFRESH(1)",
        "cycles: REFRESH(5)",
        "cycles: ENABLE",
    ];
    for (model, limited) in [(&[] as &[&str], "pass"), (&["--hup-bug"], "fail"), (&["--skid", "40"], "pass")]
    {
        let Some(report) = Part::checks(NAME, &CHECKS).under(model) else { return };
        for name in CHECKS {
            let wanted = if name.contains("REFRESH") { limited } else { "pass" };
            assert_eq!(check(&report, name)["outcome"], wanted, "{model:?} {}", check(&report, name));
        }
        assert_eq!(check(&report, CHECKS[1])["figures"]["signals"], json!(5));
    }
}

#[test]
fn a_period_that_is_changed_holds_at_once() {
    const CHECKS: [&str; 1] = ["period changed: instructions"];
    for model in [&[] as &[&str], &["--skid", "3"], &["--iret-counts"]] {
        let part = Part::checks("a_period_that_is_changed_holds_at_once", &CHECKS);
        let Some(report) = part.under(model) else { return };
        let changed = check(&report, CHECKS[0]);
        assert_eq!(changed["outcome"], "pass", "{model:?} {changed}");
        let figure = |name: &str| changed["figures"][name].as_i64().unwrap();
        // Seven halves of the old period, 41 halves of the new one, of which a few are the handler's.
        assert!(figure("before") == 3 && figure("after") >= 20, "{changed}");
    }
}

#[test]
fn a_few_signals_are_no_more_than_the_overflows() {
    const NAME: &str = "a_few_signals_are_no_more_than_the_overflows";
    for model in [&[] as &[&str], &["--overcount", "100"], &["--overcount", "30"]] {
        for signals in ["1", "3"] {
            let part = Part { signals, ..Part::row(NAME, "sigtrap") };
            let Some(report) = part.of("instructions,branches", model) else { return };
            for event in ["instructions", "branches"] {
                let row = rows(&report).iter().find(|row| row["event"] == event).expect("a row");
                assert_eq!(
                    (&row["outcome"], &row["figures"]["extra"]),
                    (&json!("pass"), &json!(0)),
                    "{model:?} {row}"
                );
            }
        }
    }
}

#[test]
fn an_event_asked_for_twice_is_measured_once_and_quiet_is_no_model() {
    let part = Part::checks("an_event_asked_for_twice_is_measured_once_and_quiet_is_no_model", &["none"]);
    let Some(report) = part.of("instructions,breakpoint,instructions", &["--skid", "3"]) else { return };
    let of = |event: &str| rows(&report).iter().filter(|row| row["event"] == event).count();
    // The breakpoint's two controls, and its row by fasync.
    assert_eq!((of("instructions"), of("breakpoint")), (1, 3));
    assert_eq!(report["machine"]["emulated"], json!("--skid 3"), "{}", report["machine"]);
}

#[test]
fn multiplexing_is_named_and_nothing_else_is_said() {
    const NAME: &str = "multiplexing_is_named_and_nothing_else_is_said";
    const CHECKS: [&str; 1] = ["instructions, with signals"];
    let part = Part { checks: &CHECKS, ..Part::row(NAME, "fasync") };
    let Some(report) = part.under(&["--multiplex", "2000"]) else { return };
    for found in [nops(&report, "fasync"), check(&report, CHECKS[0])] {
        assert_eq!(found["outcome"], "fail", "{found}");
        assert!(found["reason"].as_str().unwrap().contains("multiplexed: "), "{found}");
    }
    assert_eq!(nops(&report, "fasync")["synchronous"], Value::Null);
}

#[test]
fn the_smallest_period_and_the_tail_are_found() {
    const NAME: &str = "the_smallest_period_and_the_tail_are_found";
    const CHECKS: [&str; 2] = ["smallest period of instructions", "handler tail"];
    let part = Part::checks(NAME, &CHECKS);
    let Some(report) = part.under(&["--min-period", "200"]) else { return };
    assert_eq!(check(&report, CHECKS[0])["figures"]["accepted"], json!(200));
    let tail = |report: &Value| check(report, CHECKS[1])["figures"]["tail"].as_i64().unwrap();
    let without = tail(&report);
    let Some(report) = part.under(&["--iret-counts"]) else { return };
    assert_eq!(tail(&report), without + 1, "the return from the handler is one more");
}

#[test]
fn a_lost_hang_up_is_seen() {
    const CHECKS: [&str; 1] = ["instructions: REFRESH(5)"];
    let part = Part::checks("a_lost_hang_up_is_seen", &CHECKS);
    let Some(report) = part.under(&["--hup-bug"]) else { return };
    let five = check(&report, CHECKS[0]);
    // On a kernel that is not known for it, it is a failure.
    assert!(["fail", "known-kernel-bug"].contains(&five["outcome"].as_str().unwrap()), "{five}");
    assert_eq!(five["text"], "5 × POLL_IN");
    let Some(report) = part.under(&[]) else { return };
    assert_eq!(check(&report, CHECKS[0])["text"], "4 × POLL_IN, 1 × POLL_HUP");
}

#[test]
fn fused_instructions_are_seen_to_retire_together() {
    const NAME: &str = "fused_instructions_are_seen_to_retire_together";
    let fused = |report: &Value| nops(report, "fasync")["classes"][0].clone();
    let part = Part { class: "fused cmp+jcc", ..Part::row(NAME, "fasync") };
    let Some(report) = part.under(&["--fuse"]) else { return };
    let class = fused(&report);
    // An overflow at the first of the two stops behind the second: one instruction late, one in the loop's six.
    let seen = skids(&class);
    assert_eq!(seen.len(), 2, "{class}");
    let total = (seen[0] + seen[1]) as f64;
    assert!(
        chi_squared(&seen, &[total * 5.0 / 6.0, total / 6.0]).expect("enough signals") > 0.001,
        "{seen:?}"
    );
    let Some(report) = part.under(&[]) else { return };
    let class = fused(&report);
    assert_eq!(class["at_expected"], class["signals"], "{class}");
}

#[test]
fn throttling_is_seen_and_its_limit_recovered() {
    const CHECKS: [&str; 1] = ["throttling of instructions"];
    let part = Part::checks("throttling_is_seen_and_its_limit_recovered", &CHECKS);
    for (model, limit) in [(&[] as &[&str], Value::Null), (&["--throttle", "5"], json!(5))] {
        let Some(report) = part.under(model) else { return };
        let throttling = check(&report, CHECKS[0]);
        let figures = &throttling["figures"];
        assert_eq!((&figures["limit"], &throttling["outcome"]), (&limit, &json!("pass")), "{throttling}");
        assert_eq!(figures["signals"], figures["asked"], "{throttling}");
        assert!(figures["asked"].as_i64().unwrap() >= 20, "{throttling}");
    }
}

/// What a row says, of an event, level or model that is none of the others'.
#[test]
fn what_cannot_be_measured_says_why() {
    const NAME: &str = "what_cannot_be_measured_says_why";
    let reason = |arguments: &[&str]| {
        let directory = tempfile::tempdir().expect("a directory");
        let json = directory.path().join("r.json");
        let mut command = Command::new(emulator());
        command.args(["emulate", "-q", "--", env!("CARGO_BIN_EXE_overstep"), "validate", "--quick"]);
        command.args(["--class", "none", "--check", "none", "--signals", "10"]).args(arguments);
        run(command.arg("--json").arg(&json));
        let report = report(&json);
        rows(&report).last().expect("rows").clone()
    };
    if Part::checks(NAME, &["none"]).under(&[]).is_none() {
        return;
    }
    let switches = reason(&["--event", "context-switches", "--delivery", "sigtrap"]);
    assert_eq!((&switches["event"], &switches["outcome"]), (&json!("context-switches"), &json!("skip")));
    assert!(switches["reason"].as_str().unwrap().contains("overstep emulate"), "{switches}");
    let precise = reason(&["--event", "instructions", "--precise", "1", "--delivery", "fasync"]);
    let why = precise["reason"].as_str().unwrap();
    assert!(why.contains("precise level 1") && !why.contains("--engine"), "{why}");
    let cycles = reason(&["--event", "cycles", "--delivery", "fasync"]);
    assert_eq!((&cycles["event"], &cycles["outcome"]), (&json!("cycles"), &json!("pass")), "{cycles}");
    assert_eq!(cycles["synchronous"], json!(false), "no instruction makes a clock overflow: {cycles}");
}
