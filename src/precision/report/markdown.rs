//! The report as Markdown, for a bug report.

use std::fmt::Write;

use super::model::Report;
use super::sentences::{self, grouped};
use crate::precision::judge::Outcome;

/// GitHub's dialect: headings, tables, one sentence a line.
#[must_use]
pub fn markdown(report: &Report) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_to(report, &mut out);
    out
}

fn write_to(report: &Report, out: &mut String) -> std::fmt::Result {
    writeln!(out, "## overstep validate: {}\n", report.machine.kernel)?;
    writeln!(
        out,
        "{}  \n{}  \noverstep {}\n",
        report.machine.cpu.describe(),
        report.machine.system(),
        report.overstep
    )?;
    if report.partial {
        writeln!(out, "**Partial: interrupted before everything was measured.**\n")?;
    }
    writeln!(out, "{} {}\n", sentences::trust(report), sentences::summary(report))?;
    writeln!(
        out,
        "| event | signals | lost | at expected | skid p50 / p90 / p99 / max | outcome |\n|---|--:|--:|--:|--:|---|"
    )?;
    for row in report.results.iter().filter(|row| row.verdict.outcome != Outcome::Skip) {
        let skid = row.figures.as_ref().and_then(|figures| figures.quantiles(" / ")).unwrap_or_default();
        let lost = row.figures.as_ref().map(|figures| grouped(figures.lost)).unwrap_or_default();
        let (name, outcome) = (row.name(), row.verdict.outcome.name());
        let (signals, at) = (grouped(row.signals), grouped(row.at_expected));
        writeln!(out, "| {name} | {signals} | {lost} | {at} | {skid} | {outcome} |")?;
    }
    writeln!(out)?;
    for row in &report.results {
        writeln!(out, "- {}", sentences::row(row))?;
        for class in row.classes.iter().filter_map(|class| sentences::class(row, class)) {
            writeln!(out, "  - {class}")?;
        }
    }
    writeln!(out, "\n| check | found | outcome |\n|---|---|---|")?;
    for check in &report.checks {
        let reason =
            check.verdict.reason.as_deref().filter(|reason| *reason != check.text).unwrap_or_default();
        let found = [check.text.as_str(), reason]
            .into_iter()
            .filter(|it| !it.is_empty())
            .collect::<Vec<_>>()
            .join("; ");
        writeln!(
            out,
            "| {} | {} | {} |",
            check.name,
            found.replace('|', "\\|"),
            check.verdict.outcome.name()
        )?;
    }
    Ok(())
}
