//! The report for a terminal: the table, what was checked besides, and the sentences.

use std::io::{self, Write};

use super::model::{Check, Report};
use super::{sentences, table};
use crate::precision::judge::Outcome;

/// Writes it; `colours` puts ANSI sequences in.
///
/// # Errors
/// Whatever `out` answers.
pub fn write(report: &Report, colours: bool, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "overstep {} validate", report.overstep)?;
    writeln!(out, "{}\n{}\n", report.machine.cpu.describe(), report.machine.system())?;
    if report.partial {
        writeln!(out, "PARTIAL: interrupted before everything was measured.\n")?;
    }
    write!(out, "{}", table::rows(report, colours))?;
    let mut group = None;
    for check in &report.checks {
        if group.replace(check.group) != Some(check.group) {
            writeln!(out, "\n{}", check.group.title())?;
        }
        let outcome = table::paint(check.verdict.outcome, colours);
        let blanks = 16usize.saturating_sub(check.verdict.outcome.name().chars().count());
        writeln!(out, "  {outcome}{:blanks$}  {:40}  {}", "", check.name, told(check))?;
    }
    writeln!(out)?;
    for row in &report.results {
        writeln!(out, "{}", sentences::row(row))?;
        for class in row.classes.iter().filter_map(|class| sentences::class(row, class)) {
            writeln!(out, "  {class}")?;
        }
    }
    writeln!(out, "\n{}", sentences::trust(report))?;
    writeln!(out, "{}", sentences::summary(report))
}

/// What was found, or why not.
fn told(check: &Check) -> String {
    let reason = check.verdict.reason.as_deref();
    match (check.verdict.outcome, reason) {
        (Outcome::Skip, Some(reason)) => format!("SKIP: {reason}"),
        (_, Some(reason)) if check.text.is_empty() || check.text == reason => reason.to_owned(),
        (_, Some(reason)) => format!("{}; {reason}", check.text),
        (_, None) => check.text.clone(),
    }
}
