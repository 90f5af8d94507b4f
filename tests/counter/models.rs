//! Every error of the model is recovered from the trace, and by exactly as much as was injected.

use overstep::emulate::{Random, Skid};

use crate::stepped::{Stepped, Subject, string};

const STEPS: &str = "emulate/steps.c";
/// Events that a run opens before the one it steps with, at most: probes and calibration have theirs.
const EVENTS: u64 = 500;
/// Of the handler, without a model.
const TAIL: u64 = 2;

/// The dice of the event whose `draw`s are what was seen; there is hardly more than one.
fn injected<T: PartialEq>(seed: u64, seen: &[T], draw: impl Fn(&mut Random) -> T) -> Option<u64> {
    (0..EVENTS).find(|event| {
        let mut random = Random::new(seed, *event);
        seen.iter().all(|one| *one == draw(&mut random))
    })
}

#[test]
fn skids_are_recovered_one_by_one() {
    let Some(subject) = Subject::build(STEPS) else { return };
    let wanted = Skid::Uniform { low: 0, high: 5 };
    for delivery in ["fasync", "sigtrap"] {
        let found =
            subject.step(&["--skid", "uniform:0-5", "--seed", "7"], &["--delivery", delivery], &["1", "60"]);
        assert_eq!(found.summary()["lost"], 0, "{delivery}: {}", found.summary());
        assert_eq!(found.markers("leave").len(), 1, "{delivery}");
        let skids = found.skids(1);
        assert!(skids.len() > 100, "{} stops", skids.len());
        assert!(injected(7, &skids, |random| wanted.draw(random)).is_some(), "{delivery}: {skids:?}");
        // The test can fail.
        let mut other = skids.clone();
        other[50] = (other[50] + 1) % 6;
        assert_eq!(injected(7, &other, |random| wanted.draw(random)), None);
        assert_eq!(found.places(), subject.step_by_breakpoints(&["1", "60"]).places(), "{delivery}");
    }
}

#[test]
fn a_constant_skid_shows_at_every_stop() {
    let Some(subject) = Subject::build(STEPS) else { return };
    let found = subject.step(&["--skid", "2"], &[], &["2", "30"]);
    assert!(found.stderr.contains("went 1 on in 0 of"), "calibration must have seen it: {}", found.stderr);
    for call in [1, 2] {
        let skids = found.skids(call);
        assert!(skids.len() > 50 && skids.iter().all(|skid| *skid == 2), "{skids:?}");
    }
    assert_eq!(found.summary()["lost"], 0, "{}", found.summary());
}

#[test]
fn lost_signals_are_counted() {
    let Some(subject) = Subject::build(STEPS) else { return };
    let found = subject.step(&["--lose", "0.01", "--seed", "3"], &[], &["20", "5"]);
    let lost = found.markers("lost");
    let left = found.markers("leave").len();
    assert_eq!(lost.len() + left, 20, "each call ends in one or the other");
    assert!(!lost.is_empty() && left > 0, "{} and {left}", lost.len());
    assert!(lost.iter().all(|marker| string(marker, "text").contains("its signal never came")), "{lost:?}");
    let said = format!("{} overflows stopped the counter and gave no signal", lost.len());
    assert!(found.stderr.contains(&said), "{}", found.stderr);
    assert_eq!(found.summary()["unexplained"], 0);
    // An overflow for each row, and one more that was lost; at the call's return the guard stops the thread, too, and
    // nobody can tell.
    let mut overflows = Vec::new();
    for call in 1..=20_u64 {
        let rows = found.steps().filter(|step| step["call"] == call).count();
        let is_lost = lost.iter().any(|marker| marker["call"] == call);
        let seen = if is_lost { rows } else { rows - 1 };
        overflows.extend(std::iter::repeat_n(Some(false), seen));
        overflows.push(is_lost.then_some(true));
    }
    let fits = (0..EVENTS).any(|event| {
        let mut random = Random::new(3, event);
        overflows.iter().all(|seen| {
            let drawn = random.happens(0.01);
            seen.is_none_or(|seen| seen == drawn)
        })
    });
    assert!(fits, "{overflows:?}");
}

#[test]
fn overcounts_are_found() {
    let Some(subject) = Subject::build(STEPS) else { return };
    let found = subject.step(&["--overcount", "10"], &[], &["1", "20"]);
    let figure = |before: &str, after: &str| {
        let line = found
            .stderr
            .lines()
            .find(|line| line.contains(after))
            .unwrap_or_else(|| panic!("{}", found.stderr));
        let number = line.split(before).nth(1).and_then(|rest| rest.split(' ').next());
        number.and_then(|number| number.parse::<u64>().ok()).unwrap_or_else(|| panic!("{line}"))
    };
    let zero_steps = figure("overstep: ", "(zero-steps)");
    let over = figure("the counter counted ", "more than the instructions");
    // A step retires the tail and one more, a zero-step the tail alone.
    let rows = found.steps().count() as u64;
    let retired = rows * (TAIL + 1) + zero_steps * TAIL;
    assert!(over.abs_diff(retired / 10) <= 1, "{over} of {retired}, {}", found.stderr);
    assert_eq!(found.summary()["lost"], 0, "{}", found.summary());
    let shown = found.verdicts().iter().filter(|verdict| *verdict == "zero").count() as u64;
    assert!(shown > 0 && shown <= zero_steps, "{shown} of {zero_steps}");
}

#[test]
fn a_smallest_period_is_stepped_with() {
    let Some(subject) = Subject::build(STEPS) else { return };
    let found = subject.step(&["--min-period", "6"], &[], &["1", "20"]);
    assert!(found.stderr.contains("period 6, the smallest that this CPU takes"), "{}", found.stderr);
    every(&found, 6 - TAIL as usize);
}

#[test]
fn a_longer_period_stops_at_every_so_many_instructions() {
    let Some(subject) = Subject::build(STEPS) else { return };
    every(&subject.step(&[], &["--period", "3"], &["1", "20"]), 3);
}

/// One stop in `wanted` rows, and each of them exact.
#[track_caller]
/// A row that did not run is never written; what cannot be known is lost, and not the counter's fault.
#[test]
fn a_way_between_two_stops_is_the_one_taken_or_unknown() {
    let Some(subject) = Subject::build("emulate/ways.c") else { return };
    for which in ["0", "1", "2"] {
        let truth = subject.step_by_breakpoints(&[which]);
        let happened = truth.passages();
        for options in
            [&["--period", "6"][..], &["--period", "7"], &["--period", "20"], &["--event", "branches"]]
        {
            let found = subject.step(&[], options, &[which]);
            let summary = found.summary();
            assert_eq!(summary["zero"], 0, "{which} {options:?}: {summary}");
            assert_eq!(summary["skid"], 0, "{which} {options:?}: {summary}");
            assert!(!found.stderr.contains("counted"), "{which} {options:?}: {}", found.stderr);
            for passage in found.passages() {
                assert!(happened.contains(&passage), "{which} {options:?}: {passage:?} did not happen");
            }
            if which == "0" && options != ["--period", "20"] {
                assert_eq!(found.places(), truth.places(), "{options:?}");
            }
        }
    }
}

fn every(found: &Stepped, wanted: usize) {
    let verdicts = found.verdicts();
    for (place, verdict) in verdicts.iter().enumerate() {
        assert_eq!(verdict, if place % wanted == 0 { "exact" } else { "reconstructed" }, "row {place}");
    }
    assert!(verdicts.len() > 100);
}

#[test]
fn fused_pairs_are_never_parted() {
    let Some(subject) = Subject::build(STEPS) else { return };
    let found = subject.step(&["--fuse"], &[], &["1", "20"]);
    let steps: Vec<_> = found.steps().collect();
    let mut pairs = 0;
    for three in steps.windows(3) {
        let [compare, branch, behind] = three else { unreachable!() };
        let compares = ["cmp", "test"].iter().any(|it| string(compare, "text").starts_with(it));
        let text = string(branch, "text");
        if compares && text.starts_with('j') && !text.starts_with("jmp") {
            pairs += 1;
            assert_eq!((string(branch, "verdict"), string(behind, "verdict")), ("reconstructed", "skid"));
            assert_eq!(behind["late"], 1);
        }
    }
    assert!(pairs >= 20, "{pairs}");
    let skids = found.skids(1);
    assert_eq!(skids.iter().filter(|skid| **skid == 1).count(), pairs, "{skids:?}");
}

#[test]
fn a_tail_that_counts_iret_is_found() {
    let Some(subject) = Subject::build(STEPS) else { return };
    let found = subject.step(&["--iret-counts"], &[], &["1", "20"]);
    assert!(found.stderr.contains("handler tail 3, period 4"), "{}", found.stderr);
    assert!(found.verdicts().iter().all(|verdict| verdict == "exact"));
}

#[test]
fn a_limit_without_a_hang_up_is_said() {
    let Some(subject) = Subject::build(STEPS) else { return };
    let found = subject.step(&["--hup-bug"], &["--delivery", "fasync"], &["1", "20"]);
    assert!(found.stderr.contains("said POLL_IN, not POLL_HUP"), "{}", found.stderr);
    assert!(found.verdicts().iter().all(|verdict| verdict == "exact"));
    let right = subject.step(&[], &["--delivery", "fasync"], &["1", "20"]);
    assert!(!right.stderr.contains("POLL_"), "{}", right.stderr);
}

/// Each re-arming counts as a new start (kernel-facts 14).
#[test]
fn throttling_does_not_hold_one_shots_back() {
    let Some(subject) = Subject::build(STEPS) else { return };
    let found = subject.step(&["--throttle", "5"], &[], &["1", "20"]);
    assert!(found.verdicts().iter().all(|verdict| verdict == "exact"));
    assert!(found.steps().count() > 100);
}

#[test]
fn a_counter_that_is_away_is_named_and_its_rows_are_lost() {
    let Some(subject) = Subject::build(STEPS) else { return };
    let found = subject.step(&["--multiplex", "9000"], &[], &["1", "1500"]);
    let away: Vec<_> = found
        .markers("lost")
        .into_iter()
        .filter(|it| string(it, "text").contains("thousandths of the time"))
        .collect();
    assert!(!away.is_empty(), "{}", found.summary());
    assert_eq!(found.summary()["unexplained"], 0, "{}", found.summary());
    assert_eq!(found.summary()["all_expected"], false);
}

/// What `trace` says of the counter, and all the rest of its standard error.
#[track_caller]
fn assert_said(found: &Stepped, said: &[&str], unsaid: &[&str]) {
    for text in said {
        assert!(found.stderr.contains(text), "no `{text}` in {}", found.stderr);
    }
    for text in unsaid {
        assert!(!found.stderr.contains(text), "`{text}` in {}", found.stderr);
    }
}

#[test]
fn multiplexing_is_named_in_calibration_and_at_the_end() {
    let Some(subject) = Subject::build(STEPS) else { return };
    let found = subject.step(&["--multiplex", "5000"], &["--delivery", "fasync"], &["1", "1500"]);
    let said = [
        "handler tail 2, period 3",
        "overflows of calibration: others share it (multiplexing)",
        "stops the counter did not count all the time",
    ];
    assert_said(&found, &said, &["POLL_IN", "more than the instructions"]);
}

#[test]
fn an_overcount_of_any_rate_shifts_no_tail_and_is_counted() {
    let Some(subject) = Subject::build(STEPS) else { return };
    for every in ["5", "20", "100"] {
        let found = subject.step(&["--overcount", every], &[], &["1", "20"]);
        let said =
            ["handler tail 2, period 3", "in a million too many", "more than the instructions that ran"];
        assert_said(&found, &said, &[]);
        assert_eq!(found.summary()["lost"], 0, "one in {every}: {}", found.summary());
        assert_eq!(found.summary()["unexplained"], 0, "one in {every}: {}", found.summary());
        assert!(found.skids(1).iter().all(|skid| *skid == 0), "one in {every}: {:?}", found.skids(1));
    }
}

#[test]
fn signals_lost_in_calibration_are_tried_again_and_named() {
    let Some(subject) = Subject::build(STEPS) else { return };
    for (delivery, seed) in [("fasync", "1"), ("sigtrap", "1"), ("fasync", "4")] {
        let found = subject.step(&["--lose", "0.3", "--seed", seed], &["--delivery", delivery], &["20", "5"]);
        assert_said(
            &found,
            &["handler tail 2, period 3", "overflows of calibration gave no signal"],
            &["never arrive"],
        );
    }
}

#[test]
fn throttling_of_a_free_running_counter_is_named_and_holds_no_step_back() {
    let Some(subject) = Subject::build(STEPS) else { return };
    for most in ["1", "2", "4"] {
        let found = subject.step(&["--throttle", most], &[], &["1", "20"]);
        assert_said(&found, &["the kernel throttles the counter when it runs freely"], &["hardly counts"]);
        assert!(found.verdicts().iter().all(|verdict| verdict == "exact"), "{:?}", found.summary());
    }
}
