//! The rows as a table for a terminal.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use super::model::{Report, Row};
use super::sentences::grouped;
use crate::precision::judge::Outcome;
use crate::precision::judge::row::Control;

const RED: &str = "\x1b[1;31m";
const GREEN: &str = "\x1b[32m";
const YELLOW: &str = "\x1b[33m";
const DIM: &str = "\x1b[2m";
const RESET: &str = "\x1b[0m";

/// One line per row; `colours` puts ANSI sequences in.
#[must_use]
pub fn rows(report: &Report, colours: bool) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header([
        "event",
        "precise",
        "delivery",
        "control",
        "signals",
        "lost",
        "expected",
        "skid p50/p90/p99/max",
        "synchronous",
        "outcome",
    ]);
    for column in [1, 4, 5, 6, 7] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for row in &report.results {
        table.add_row(cells(row));
    }
    let lines = table.lines().zip(std::iter::once(None).chain(report.results.iter().map(Some)));
    let painted = lines
        .map(|(line, row)| paint_end(line.trim_end(), row.map(|row| row.verdict.outcome), colours) + "\n");
    painted.collect()
}

fn cells(row: &Row) -> [String; 10] {
    let measured = row.verdict.outcome != Outcome::Skip;
    let number = |value| if measured { grouped(value) } else { "-".to_owned() };
    let control = match row.control {
        Some(Control::Synchronous) => "sync",
        Some(Control::Asynchronous) => "async",
        None => "",
    };
    let synchronous = match row.synchronous {
        Some(true) => "yes",
        Some(false) => "no",
        None if measured => "open",
        None => "-",
    };
    [
        row.event.clone(),
        row.precise.to_string(),
        row.delivery.to_string(),
        control.to_owned(),
        number(row.signals),
        row.figures.as_ref().map_or_else(|| "-".to_owned(), |figures| grouped(figures.lost)),
        number(row.at_expected),
        row.figures.as_ref().and_then(|figures| figures.quantiles("/")).unwrap_or_else(|| "-".to_owned()),
        synchronous.to_owned(),
        row.verdict.outcome.name().to_owned(),
    ]
}

/// Colours the outcome, which ends the line.
fn paint_end(line: &str, outcome: Option<Outcome>, colours: bool) -> String {
    let Some(outcome) = outcome else { return line.to_owned() };
    let front = line.strip_suffix(outcome.name());
    front.map_or_else(|| line.to_owned(), |front| front.to_owned() + &paint(outcome, colours))
}

/// An outcome's name, coloured or not.
pub(super) fn paint(outcome: Outcome, colours: bool) -> String {
    let name = outcome.name();
    let colour = match outcome {
        _ if !colours => return name.to_owned(),
        Outcome::Pass => GREEN,
        Outcome::Fail | Outcome::Unexplained => RED,
        Outcome::KnownKernelBug => YELLOW,
        Outcome::Skip => DIM,
    };
    format!("{colour}{name}{RESET}")
}
