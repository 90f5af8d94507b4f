//! What the figures say, in words.

use super::model::{ClassRow, Report, Row};
use crate::precision::judge::Outcome;
use crate::precision::judge::row::Control;

/// One sentence about a row.
#[must_use]
pub fn row(row: &Row) -> String {
    let name = row.name();
    let reason = row.verdict.reason.as_deref().unwrap_or_default();
    let noted = if reason.is_empty() { String::new() } else { format!("; {reason}") };
    match (row.verdict.outcome, row.synchronous) {
        (Outcome::Skip, _) => format!("SKIP {name}: {reason}"),
        (Outcome::Fail, _) => format!("{name}: fail, {reason}"),
        (Outcome::Unexplained, _) => format!("{name}: unexplained, {reason}"),
        (Outcome::KnownKernelBug, _) => format!("{name}: known kernel bug, {reason}"),
        (Outcome::Pass, Some(true)) => format!(
            "{name}: synchronous, {} of {} at the expected instruction ({}){noted}",
            grouped(row.at_expected),
            grouped(row.signals),
            bound(row)
        ),
        (Outcome::Pass, Some(false)) => format!(
            "{name}: asynchronous, {} of {} elsewhere{noted}",
            grouped(row.signals - row.at_expected),
            grouped(row.signals)
        ),
        (Outcome::Pass, None) => {
            let elsewhere = row.signals - row.at_expected;
            let found = if elsewhere == 0 { "no counterexample" } else { "nothing certain" };
            format!("{name}: {found} in {} ({}){noted}", grouped(row.signals), bound(row))
        }
    }
}

/// A class of instruction that did not come out like its row.
#[must_use]
pub fn class(row: &Row, class: &ClassRow) -> Option<String> {
    let reason = class.verdict.reason.as_deref().unwrap_or_default();
    let name = format!("{} at {}", row.name(), class.class);
    match class.verdict.outcome {
        Outcome::Skip => Some(format!("SKIP {name}: {reason}")),
        Outcome::Pass if class.at_expected == class.signals => None,
        Outcome::Pass => Some(format!(
            "{name}: {} of {} elsewhere",
            grouped(class.signals - class.at_expected),
            grouped(class.signals)
        )),
        outcome => Some(format!("{name}: {}, {reason}", outcome.name())),
    }
}

/// How many of everything came out how.
#[must_use]
pub fn summary(report: &Report) -> String {
    let all = [Outcome::Pass, Outcome::Fail, Outcome::Unexplained, Outcome::KnownKernelBug, Outcome::Skip];
    let counted = all.map(|wanted| (wanted, report.outcomes().filter(|outcome| *outcome == wanted).count()));
    let told: Vec<_> = counted
        .iter()
        .filter(|(_, n)| *n > 0)
        .map(|(outcome, n)| format!("{n} {}", outcome.name()))
        .collect();
    if told.is_empty() { "Nothing was measured.".to_owned() } else { format!("{}.", told.join(", ")) }
}

/// What the controls say about everything else.
#[must_use]
pub fn trust(report: &Report) -> String {
    let controls: Vec<_> = report.results.iter().filter_map(|row| Some((row, row.control?))).collect();
    let wrong: Vec<_> = controls
        .iter()
        .filter(|(row, control)| row.verdict.outcome != Outcome::Skip && !right(row, *control))
        .map(|(row, control)| format!("{} did not come out {}", row.name(), name(*control)))
        .collect();
    let measured = controls.iter().filter(|(row, _)| row.verdict.outcome != Outcome::Skip).count();
    match (report.trusted, wrong.is_empty()) {
        (true, _) => format!("Controls: {measured} of {} measured, all as they have to be.", controls.len()),
        (false, false) => format!("This report cannot be trusted: {}.", wrong.join("; ")),
        (false, true) if report.partial => {
            "This report cannot be trusted: it was interrupted before a control of each kind was measured."
                .to_owned()
        }
        (false, true) => {
            "This report cannot be trusted: too few controls were measured, one of each kind is needed."
                .to_owned()
        }
    }
}

/// Whether a control's row came out as it has to.
#[must_use]
pub fn right(row: &Row, control: Control) -> bool {
    row.verdict.outcome == Outcome::Pass && control.holds(row.synchronous)
}

const fn name(control: Control) -> &'static str {
    match control {
        Control::Synchronous => "synchronous",
        Control::Asynchronous => "asynchronous",
    }
}

fn bound(row: &Row) -> String {
    let bound = row.figures.as_ref().map_or(1.0, |figures| figures.miss_rate_95);
    format!("miss rate below {} at 95 %", percent(bound))
}

/// A share as a percentage with two significant digits.
#[must_use]
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent <= 0.0 {
        return "0 %".to_owned();
    }
    let digits = (1 - percent.log10().floor() as i32).max(0) as usize;
    format!("{percent:.digits$} %")
}

/// A number with its thousands set apart.
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(
            (grouped(20_000), grouped(999), grouped(1_234_567)),
            ("20,000".into(), "999".into(), "1,234,567".into())
        );
        assert_eq!(
            (percent(0.000_15), percent(0.158), percent(0.0)),
            ("0.015 %".into(), "16 %".into(), "0 %".into())
        );
        assert_eq!(percent(1.0), "100 %");
    }
}
