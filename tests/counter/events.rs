//! Stepping by other events than instructions: rows say no more than the event tells.

use crate::stepped::{Stepped, Subject, string};

const STEPS: &str = "emulate/steps.c";

fn is_branch(text: &str) -> bool {
    text.starts_with('j') || text.starts_with("call") || text.starts_with("ret")
}

/// Rows whose stop the counter has made: where in the call, and how late.
fn stops(found: &Stepped) -> Vec<(usize, u64)> {
    let rows = found.steps().enumerate().skip(1).filter(|(_, step)| step["verdict"] != "reconstructed");
    rows.map(|(row, step)| (row, step["late"].as_u64().unwrap_or(0))).collect()
}

#[test]
fn branches_stop_behind_branches_and_the_rows_between_are_the_only_way() {
    let Some(subject) = Subject::build(STEPS) else { return };
    let arguments = ["1", "12"];
    let reference = subject.step_by_breakpoints(&arguments);
    let texts: Vec<_> = reference.steps().map(|step| string(step, "text").to_owned()).collect();
    for delivery in ["fasync", "sigtrap"] {
        for skid in [0_u64, 1] {
            let model = ["--skid", &skid.to_string()];
            let found = subject.step(&model, &["--event", "branches", "--delivery", delivery], &arguments);
            let described = format!("{delivery}, skid {skid}: {}", found.summary());
            assert_eq!(found.places(), reference.places(), "{described}");
            assert_eq!(
                (found.markers("leave").len(), &found.summary()["lost"]),
                (1, &0.into()),
                "{described}"
            );
            let stops = stops(&found);
            assert!(stops.len() > 5, "{described}: {stops:?}");
            for (row, late) in stops {
                assert_eq!(late, skid, "{described}, row {row}");
                assert!(is_branch(&texts[row - 1 - late as usize]), "{described}, row {row}");
            }
        }
    }
}

#[test]
fn a_count_of_branches_is_said_to_be_one() {
    let Some(subject) = Subject::build(STEPS) else { return };
    let found = subject.step(&[], &["--event", "branches"], &["1", "5"]);
    assert!(found.stderr.contains("counter of branches: handler tail 0, period 2"), "{}", found.stderr);
    let header = found.lines.first().expect("a header");
    assert_eq!((&header["type"], &header["event"]), (&"header".into(), &"branches".into()));
    let plain = subject.step(&[], &[], &["1", "1"]);
    assert_eq!(plain.lines.first().expect("a header")["event"], "instructions");
    assert!(subject.step_by_breakpoints(&["1", "1"]).lines[0].get("event").is_none());
}

#[test]
fn a_raw_event_of_instructions_steps_like_instructions() {
    let Some(subject) = Subject::build(STEPS) else { return };
    let found = subject.step(&[], &["--event", "rc0"], &["1", "12"]);
    assert!(found.verdicts().iter().all(|verdict| verdict == "exact"), "{:?}", found.verdicts());
    assert_eq!(found.places(), subject.step_by_breakpoints(&["1", "12"]).places());
}

/// A cycle is no instruction, though it is one under the emulator: in a loop nobody knows how often it went round.
#[test]
fn cycles_claim_nothing_about_the_way() {
    let Some(subject) = Subject::build(STEPS) else { return };
    let found = subject.step(&[], &["--event", "cycles"], &["1", "6"]);
    let unknown = found.markers("lost");
    assert!(!unknown.is_empty());
    for marker in unknown {
        let text = string(marker, "text");
        assert!(text.starts_with("lost: cycles counted ") && text.ends_with("path unknown"), "{text}");
    }
    for (row, verdict) in found.verdicts().iter().enumerate() {
        assert!(row == 0 || ["reconstructed", "lost"].contains(&verdict.as_str()), "row {row}: {verdict}");
    }
    assert_eq!(found.summary()["skid"], 0);
    assert_eq!(found.summary()["all_expected"], false);
}
