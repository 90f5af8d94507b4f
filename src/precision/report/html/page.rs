//! The page: verdict, machine, table, pictures, checks, sentences.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::histogram::histogram;
use super::matrix::matrix;
use crate::precision::judge::{Outcome, Verdict};
use crate::precision::report::model::{Report, Row};
use crate::precision::report::sentences::{self, grouped};

const STYLE: &str = include_str!("style.css");

/// The whole page.
#[must_use]
pub fn page(report: &Report) -> String {
    let machine = &report.machine;
    let measured: Vec<&Row> = report.results.iter().filter(|row| row.figures.is_some()).collect();
    let with_classes: Vec<&Row> = measured.iter().filter(|row| !row.classes.is_empty()).copied().collect();
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "overstep validate: " (machine.kernel) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { "Do overflow signals come where they should?" }
                p { (machine.cpu.describe()) }
                p { (machine.system()) }
                p class="faint" { "overstep " (report.overstep) " validate, " (format!("{:?}", report.depth).to_lowercase()) }
                @if report.partial { p class="verdict fail" { "Partial: interrupted before everything was measured." } }
                p class={ "verdict " (if report.trusted { "pass" } else { "fail" }) } { (sentences::trust(report)) }
                @let failed = report.outcomes().any(Outcome::is_failure);
                p class={ (if failed { "fail" } else { "" }) } { (sentences::summary(report)) }
                h2 { "Events" }
                (events(report))
                @if !with_classes.is_empty() {
                    h2 { "By class of the instruction at the overflow" }
                    p class="faint" { "Share of signals whose saved RIP was the expected instruction." }
                    (matrix(&with_classes))
                }
                h2 { "Instructions past the expected one" }
                (skids(&measured))
                h2 { "Checks" }
                (checks(report))
                h2 { "In words" }
                ul {
                    @for row in &report.results {
                        li { (sentences::row(row)) }
                        @for class in row.classes.iter().filter_map(|class| sentences::class(row, class)) { li { (class) } }
                    }
                }
                h2 { "Machine" }
                (facts(report))
            }
        }
    };
    page.into_string()
}

/// A picture of each row whose signals were in more than one place, or not where they had to be.
fn skids(measured: &[&Row]) -> Markup {
    let skid = |row: &Row| row.figures.as_ref().map(|figures| figures.skid.clone()).unwrap_or_default();
    let (flat, spread): (Vec<&Row>, Vec<&Row>) =
        measured.iter().partition(|row| skid(row).of(0) == row.signals && row.precise > 0);
    html! {
        p class="faint" { "Signals by distance; heights by square root, so that rare ones show." }
        div class="histograms" {
            @for row in &spread {
                @let skid = skid(row);
                @if skid.total() > 0 { (histogram(&row.name(), &skid)) }
            }
        }
        @if !flat.is_empty() {
            p class="faint" {
                "Not drawn, since every signal was at the expected instruction: "
                (flat.iter().map(|row| row.name()).collect::<Vec<_>>().join(", ")) "."
            }
        }
    }
}

fn events(report: &Report) -> Markup {
    html! {
        div class="scroll" { table {
            thead { tr {
                th { "event" } th { "precise" } th { "delivery" } th { "control" } th class="number" { "signals" }
                th class="number" { "lost" } th class="number" { "at expected" } th class="number" { "p50" } th class="number" { "p90" }
                th class="number" { "p99" } th class="number" { "max" } th { "synchronous" } th { "outcome" }
            } }
            tbody { @for row in &report.results { tr {
                td class="name" { (row.event) } td { (row.precise) } td class="name" { (row.delivery) }
                td { @if let Some(control) = row.control { (format!("{control:?}").to_lowercase()) } }
                @if let Some(figures) = &row.figures {
                    td class="number" { (grouped(row.signals)) } td class="number" { (grouped(figures.lost)) } td class="number" { (grouped(row.at_expected)) }
                    @for quantile in [figures.skid_p50, figures.skid_p90, figures.skid_p99] {
                        td class="number" { @if let Some(value) = quantile { (format!("{value:.0}")) } }
                    }
                    td class="number" { @if let Some(value) = figures.skid_max { (value) } }
                } @else { td colspan="7" class="faint" { (row.verdict.reason.as_deref().unwrap_or_default()) } }
                td { (match row.synchronous { Some(true) => "yes", Some(false) => "no", None => "" }) }
                (outcome(&row.verdict))
            } } }
        } }
    }
}

fn checks(report: &Report) -> Markup {
    html! {
        div class="scroll" { table {
            thead { tr { th { "about" } th { "check" } th { "found" } th { "outcome" } } }
            tbody { @for check in &report.checks { tr {
                td { (check.group.title()) } td { (check.name) }
                td {
                    (check.text)
                    @if let Some(reason) = &check.verdict.reason { @if *reason != check.text { div class="faint" { (reason) } } }
                }
                (outcome(&check.verdict))
            } } }
        } }
    }
}

fn outcome(verdict: &Verdict) -> Markup {
    let class = match verdict.outcome {
        Outcome::KnownKernelBug => "known-kernel-bug",
        outcome => outcome.name(),
    };
    html! { td class={ "outcome " (class) } { (verdict.outcome.name()) } }
}

fn facts(report: &Report) -> Markup {
    let machine = &report.machine;
    html! {
        div class="scroll" { table { tbody {
            tr { th { "kernel" } td { (machine.kernel) } }
            tr { th { "CPU" } td { (machine.cpu.describe()) } }
            tr { th { "CPUs online" } td { (machine.online) } }
            @for (name, value) in &machine.sysctls { tr { th { (name) } td { (value) } } }
            @for pmu in &machine.pmus { tr {
                th { "event source " (pmu.name) }
                td {
                    @if let Some(kind) = pmu.kind { "type " (kind) }
                    @if let Some(cpus) = &pmu.cpus { ", CPUs " (cpus) }
                    @for (name, value) in &pmu.capabilities { ", " (name) " " (value) }
                }
            } }
        } } }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::precision::plan::Depth;
    use crate::precision::report::machine::Machine;
    use crate::precision::report::model::{Check, Group, VERSION};

    #[test]
    fn a_failed_check_is_no_failed_control() {
        let check = Check {
            group: Group::Limits,
            name: "debug registers".to_owned(),
            verdict: Verdict::fail("none is free"),
            text: String::new(),
            figures: BTreeMap::new(),
        };
        let report = |trusted| Report {
            version: VERSION,
            overstep: String::new(),
            depth: Depth::Quick,
            partial: false,
            trusted,
            machine: Machine::default(),
            results: Vec::new(),
            checks: vec![check.clone()],
        };
        let says = |trusted, words: &str| page(&report(trusted)).contains(words);
        assert!(says(true, r#"<p class="verdict pass">Controls: "#));
        assert!(says(true, r#"<p class="fail">1 fail.</p>"#));
        assert!(says(false, r#"<p class="verdict fail">This report cannot be trusted"#));
    }
}
