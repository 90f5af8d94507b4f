//! Reports side by side: what changed between machines or kernels, and what got worse.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::model::{Check, Report, Row};
use super::sentences::grouped;
use crate::precision::event::{Event, Nature};
use crate::precision::judge::Outcome;

/// One row or check over all reports; `None` where a report does not have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub name: String,
    pub states: Vec<Option<State>>,
    pub change: Change,
}

/// What a report says of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    pub outcome: Outcome,
    /// Of a row only.
    pub synchronous: Option<bool>,
    /// Signals and how many were at the expected instruction, of a measured row only.
    pub signals: Option<(u64, u64)>,
    /// Figures that one machine gives again and again.
    pub figures: BTreeMap<&'static str, i64>,
}

impl State {
    /// This, and nothing measured beside it.
    const fn of(outcome: Outcome) -> Self {
        Self { outcome, synchronous: None, signals: None, figures: BTreeMap::new() }
    }
}

/// How the later reports differ from the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    None,
    /// Other, but not worse: it can be measured now, or cannot any more.
    Different,
    /// What was wrong is right.
    Better,
    /// What was right is wrong.
    Regression,
}

/// The lines of all reports, in the first one's order; the first is what the others are held against.
#[must_use]
pub fn compare(reports: &[Report]) -> Vec<Line> {
    let mut order: Vec<String> = Vec::new();
    let mut states: BTreeMap<String, Vec<Option<State>>> = BTreeMap::new();
    for (n, report) in reports.iter().enumerate() {
        for (name, state) in lines(report) {
            let line = states.entry(name.clone()).or_insert_with(|| {
                order.push(name);
                vec![None; reports.len()]
            });
            if let Some(place) = line.get_mut(n) {
                *place = Some(state);
            }
        }
    }
    let line = |name: String| {
        let states = states.remove(&name).unwrap_or_default();
        let change = match states.split_first() {
            Some((first, others)) => others.iter().map(|other| change(first.as_ref(), other.as_ref())).max(),
            None => None,
        };
        Line { name, states, change: change.unwrap_or(Change::None) }
    };
    order.into_iter().map(line).collect()
}

fn lines(report: &Report) -> Vec<(String, State)> {
    let trust = State::of(if report.trusted { Outcome::Pass } else { Outcome::Fail });
    let mut lines = vec![("controls".to_owned(), trust)];
    for row in &report.results {
        let signals = row.figures.as_ref().map(|_| (row.signals, row.at_expected));
        let figures = steady_of_row(row);
        let state = State { outcome: row.verdict.outcome, synchronous: row.synchronous, signals, figures };
        lines.push((row.name(), state));
        for class in &row.classes {
            let signals = class.figures.as_ref().map(|_| (class.signals, class.at_expected));
            let state = State { signals, ..State::of(class.verdict.outcome) };
            lines.push((format!("{} at {}", row.name(), class.class), state));
        }
    }
    let check = |it: &Check| {
        let state = State { figures: steady_of_check(it), ..State::of(it.verdict.outcome) };
        (format!("{}: {}", it.group.title(), it.name), state)
    };
    lines.extend(report.checks.iter().map(check));
    lines
}

/// Half of all signals came no further than this, and some were lost or none: not of a clock, whose signals are
/// wherever its tick finds the program, nor of context switches, which others force.
fn steady_of_row(row: &Row) -> BTreeMap<&'static str, i64> {
    let nature = Event::parse(&row.event).map(|event| event.nature());
    let steady = !matches!(nature, Ok(Nature::Clock | Nature::Switch));
    let Some(figures) = row.figures.as_ref().filter(|_| steady) else { return BTreeMap::new() };
    let median = figures.skid_p50.map(|median| ("skid", median as i64));
    median.into_iter().chain([("losing", i64::from(figures.lost > 0))]).collect()
}

/// What describes the machine, not the run.
fn steady_of_check(check: &Check) -> BTreeMap<&'static str, i64> {
    const STEADY: [&str; 7] = ["accepted", "counters", "free", "limit", "on", "over", "tail"];
    // Those of context switches are also the scheduler's.
    let varies = |name| name == "over" && check.name.starts_with("context-switches");
    let steady = STEADY.into_iter().filter(|name| !varies(*name));
    steady.filter_map(|name| Some((name, *check.figures.get(name)?))).collect()
}

/// How `now` differs from `before`. A skip is no statement, so neither going to one nor coming from one is worse.
fn change(before: Option<&State>, now: Option<&State>) -> Change {
    let (Some(before), Some(now)) = (before, now) else {
        return if before.is_some() == now.is_some() { Change::None } else { Change::Different };
    };
    let right = |outcome| outcome == Outcome::Pass;
    let wrong = |outcome| matches!(outcome, Outcome::Fail | Outcome::Unexplained | Outcome::KnownKernelBug);
    match (before, now) {
        _ if right(before.outcome) && wrong(now.outcome) => Change::Regression,
        _ if before.outcome == Outcome::KnownKernelBug && now.outcome.is_failure() => Change::Regression,
        _ if wrong(before.outcome) && right(now.outcome) => Change::Better,
        _ if (before.synchronous, now.synchronous) == (Some(true), Some(false)) => Change::Regression,
        _ if (before.synchronous, now.synchronous) == (Some(false), Some(true)) => Change::Better,
        _ if before.outcome != now.outcome => Change::Different,
        _ if before
            .figures
            .iter()
            .any(|(name, value)| now.figures.get(name).is_some_and(|now| now != value)) =>
        {
            Change::Different
        }
        _ => Change::None,
    }
}

/// Whether anything is worse in a later report than in the first.
#[must_use]
pub fn regressed(lines: &[Line]) -> bool {
    lines.iter().any(|line| line.change == Change::Regression)
}

/// Writes what differs, a column per report, or that nothing does.
///
/// # Errors
/// Whatever `out` answers.
pub fn write(names: &[String], reports: &[Report], lines: &[Line], out: &mut impl Write) -> io::Result<()> {
    for (n, (name, report)) in (1..).zip(names.iter().zip(reports)) {
        let partial = if report.partial { ", partial" } else { "" };
        writeln!(
            out,
            "{n}: {name}: {}; {}{partial}",
            report.machine.cpu.describe(),
            report.machine.system()
        )?;
    }
    let changed: Vec<_> = lines.iter().filter(|line| line.change != Change::None).collect();
    if !changed.is_empty() {
        let mut table = comfy_table::Table::new();
        table.load_style(comfy_table::presets::NOTHING);
        let numbers = (1..=reports.len()).map(|n| n.to_string());
        table.set_header([String::new()].into_iter().chain(numbers).chain([String::new()]));
        for line in &changed {
            let states = line.states.iter().map(|state| state.as_ref().map_or_else(|| "-".to_owned(), told));
            table.add_row(
                [line.name.clone()].into_iter().chain(states).chain([line.change.name().to_owned()]),
            );
        }
        writeln!(out)?;
        for text in table.lines() {
            writeln!(out, "{}", text.trim_end())?;
        }
    }
    let worse = changed.iter().filter(|line| line.change == Change::Regression).count();
    writeln!(out, "\n{} lines compared, {} differ, {worse} worse.", lines.len(), changed.len())
}

fn told(state: &State) -> String {
    let synchronous = match state.synchronous {
        Some(true) => ", synchronous",
        Some(false) => ", asynchronous",
        None => "",
    };
    match state.signals {
        Some((signals, at)) => {
            let skid = state.figures.get("skid").filter(|skid| **skid != 0);
            let skid = skid.map_or_else(String::new, |skid| format!(", skid {skid}"));
            format!("{}{synchronous}, {} of {}{skid}", state.outcome.name(), grouped(at), grouped(signals))
        }
        None => {
            let figures = state.figures.iter().map(|(name, value)| format!(", {name} {value}"));
            format!("{}{synchronous}{}", state.outcome.name(), figures.collect::<String>())
        }
    }
}

impl Change {
    const fn name(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Different => "different",
            Self::Better => "better",
            Self::Regression => "REGRESSION",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(outcome: Outcome, synchronous: Option<bool>) -> State {
        State { synchronous, ..State::of(outcome) }
    }

    #[test]
    fn worse_better_and_merely_different() {
        let change = |before: State, now: State| change(Some(&before), Some(&now));
        let pass = || state(Outcome::Pass, Some(true));
        assert_eq!(change(pass(), pass()), Change::None);
        assert_eq!(change(pass(), state(Outcome::Fail, None)), Change::Regression);
        assert_eq!(change(pass(), state(Outcome::Pass, Some(false))), Change::Regression);
        assert_eq!(change(pass(), state(Outcome::KnownKernelBug, None)), Change::Regression);
        assert_eq!(
            change(state(Outcome::KnownKernelBug, None), state(Outcome::Fail, None)),
            Change::Regression
        );
        assert_eq!(change(state(Outcome::Unexplained, None), pass()), Change::Better);
        assert_eq!(change(pass(), state(Outcome::Skip, None)), Change::Different);
        assert_eq!(change(state(Outcome::Skip, None), state(Outcome::Fail, None)), Change::Different);
        assert_eq!(super::change(None, Some(&pass())), Change::Different);
        // Fewer signals say less, and nothing else.
        assert_eq!(change(pass(), state(Outcome::Pass, None)), Change::None);
        let with = |free| State { figures: BTreeMap::from([("free", free)]), ..pass() };
        assert_eq!(change(with(4), with(4)), Change::None);
        assert_eq!(change(with(4), with(1)), Change::Different);
        assert_eq!(change(with(4), pass()), Change::None, "an older report has no such figure");
    }
}
