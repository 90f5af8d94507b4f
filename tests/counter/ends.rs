//! How calls end whose last stop was to come behind their return.

use crate::stepped::{Subject, string};

const STEPS: &str = "emulate/steps.c";

#[test]
fn a_skid_over_the_return_ends_in_a_leave() {
    let Some(subject) = Subject::build(STEPS) else { return };
    let arguments = ["3", "4"];
    let reference = subject.step_by_breakpoints(&arguments);
    for delivery in ["fasync", "sigtrap"] {
        for skid in 1..=5 {
            let model = ["--skid", &skid.to_string()];
            let found = subject.step(&model, &["--delivery", delivery], &arguments);
            let described = format!("{delivery}, skid {skid}: {}", found.summary());
            assert_eq!(found.places(), reference.places(), "{described}");
            let leaves = |stepped: &crate::stepped::Stepped| {
                stepped.markers("leave").iter().map(|leave| leave["regs"].to_string()).collect::<Vec<_>>()
            };
            assert_eq!(leaves(&found), leaves(&reference), "{described}");
            assert_eq!(found.summary()["lost"], 0, "{described}");
        }
    }
}

#[test]
fn a_period_that_the_call_does_not_last_ends_in_a_leave_where_only_one_way_fits() {
    // One way to the return: straight on.
    let Some(subject) = Subject::build(STEPS) else { return };
    let reference = subject.step_by_breakpoints(&["1", "1"]);
    let found = subject.step(&[], &["--period", "60"], &["1", "1"]);
    assert_eq!(found.summary()["lost"].as_u64().unwrap() + found.markers("leave").len() as u64, 1);
    let rows = found.places().len();
    assert_eq!(found.places(), reference.places()[..rows]);
}

/// Whatever the period, no row is there that did not run, and a call whose end cannot be told is not said to leave.
#[test]
fn rows_are_the_first_that_ran_and_a_leave_has_them_all() {
    let Some(subject) = Subject::build(STEPS) else { return };
    let arguments = ["4", "6"];
    let reference = subject.step_by_breakpoints(&arguments);
    for period in ["2", "5", "11", "40"] {
        let found = subject.step(&[], &["--period", period], &arguments);
        for call in 1..=4_u64 {
            let of = |stepped: &crate::stepped::Stepped| -> Vec<String> {
                let steps = stepped.steps().filter(|step| step["call"] == call);
                steps.map(|step| string(step, "address").to_owned()).collect()
            };
            let (rows, all) = (of(&found), of(&reference));
            assert!(all.starts_with(&rows), "period {period}, call {call}");
            let left = found.markers("leave").iter().any(|leave| leave["call"] == call);
            let lost = found.markers("lost").iter().any(|lost| lost["call"] == call);
            assert!(left != lost, "period {period}, call {call}");
            assert!(lost || rows == all, "period {period}, call {call}: {} of {}", rows.len(), all.len());
        }
    }
}

/// The entry of a nested call is a breakpoint's stop on the way.
#[test]
fn nested_entries_lie_on_the_way() {
    let Some(subject) = Subject::build("programs/recursion.c") else { return };
    let reference = subject.step_by_breakpoints(&[]);
    for options in [&["--period", "2"][..], &["--period", "3"], &["--period", "4", "--delivery", "sigtrap"]] {
        let found = subject.step(&[], options, &[]);
        let rows = |stepped: &crate::stepped::Stepped| stepped.steps().count();
        assert_eq!(found.summary()["unexplained"], 0, "{options:?}: {}", found.summary());
        assert_eq!(found.summary()["entered"], reference.summary()["entered"], "{options:?}");
        if found.summary()["lost"] == 0 {
            assert_eq!(found.places(), reference.places(), "{options:?}");
        }
        assert!(
            rows(&found) * 10 >= rows(&reference) * 9,
            "{options:?}: {} of {}",
            rows(&found),
            rows(&reference)
        );
    }
}
