//! The whole suite.

use super::checks;
use super::row::{self, Asked};
use crate::precision::event::{Delivery, Event};
use crate::precision::judge::Outcome;
use crate::precision::judge::row::Control;
use crate::precision::plan::{Plan, Stop};
use crate::precision::report::machine::Machine;
use crate::precision::report::model::{Report, Row, VERSION};
use crate::precision::report::sentences::right;

/// Is told what is being measured: how many checks are done, of how many, and the name of the next.
pub type Watch<'a> = &'a dyn Fn(usize, usize, &str);

/// Measures everything that `plan` asks for. A requested `stop` ends it early, with a partial report.
#[must_use]
pub fn run(plan: &Plan, stop: &Stop, watch: Watch) -> Report {
    let (rows, checks) = (rows(plan), checks::all());
    let total = rows.len() + checks.len();
    let mut results = Vec::with_capacity(rows.len());
    for asked in &rows {
        if stop.requested() {
            break;
        }
        watch(results.len(), total, &format!("{}/{}", asked.event, asked.delivery));
        let row = row::measure(asked, plan, stop);
        // A row that was cut short does not say what it would have said in full.
        if !stop.requested() {
            results.push(row);
        }
    }
    let mut found = Vec::with_capacity(checks.len());
    for check in &checks {
        if stop.requested() {
            break;
        }
        watch(rows.len() + found.len(), total, check.name);
        found.push(check.run(plan));
    }
    Report {
        version: VERSION,
        overstep: env!("CARGO_PKG_VERSION").to_owned(),
        depth: plan.depth,
        partial: stop.requested(),
        trusted: trusted(&results),
        machine: Machine::here(plan.cpu),
        results,
        checks: found,
    }
}

/// The controls, and behind them what is asked for.
fn rows(plan: &Plan) -> Vec<Asked> {
    let asked = |event: &Event, precise, delivery| Asked { event: event.clone(), precise, delivery };
    let mut rows = vec![
        asked(&Event::Breakpoint, 0, Delivery::Sigtrap),
        asked(&Event::PageFaults, 0, Delivery::Fasync),
        asked(&Event::CpuClock, 0, Delivery::Fasync),
        asked(&Event::Breakpoint, 0, Delivery::SigtrapBlocked),
    ];
    let controls = rows.len();
    for event in &plan.events {
        for precise in &plan.precise {
            for delivery in &plan.deliveries {
                let is_control = rows
                    .iter()
                    .take(controls)
                    .any(|row| row.event == *event && row.precise == *precise && row.delivery == *delivery);
                if !is_control {
                    rows.push(asked(event, *precise, *delivery));
                }
            }
        }
    }
    rows
}

/// Whether every control that could be measured came out right, and at least one of each kind was measured.
fn trusted(results: &[Row]) -> bool {
    let controls = || results.iter().filter_map(|row| Some((row, row.control?)));
    let measured = |kind: Control| controls().any(|(row, control)| control == kind && right(row, control));
    let wrong = controls().any(|(row, control)| row.verdict.outcome != Outcome::Skip && !right(row, control));
    measured(Control::Synchronous) && measured(Control::Asynchronous) && !wrong
}
