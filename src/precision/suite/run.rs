//! The whole suite.

use super::row::{self, Asked};
use crate::precision::event::{Delivery, Event};
use crate::precision::judge::Outcome;
use crate::precision::judge::row::Control;
use crate::precision::plan::{Plan, Stop};
use crate::precision::report::model::{Report, Row, VERSION};
use crate::precision::report::sentences::right;

/// Is told what is being measured: how many checks are done, of how many, and the name of the next.
pub type Watch<'a> = &'a dyn Fn(usize, usize, &str);

/// Measures everything that `plan` asks for. A requested `stop` ends it early, with a partial report.
#[must_use]
pub fn run(plan: &Plan, stop: &Stop, watch: Watch) -> Report {
    let asked = rows(plan);
    let mut results = Vec::with_capacity(asked.len());
    for (done, one) in asked.iter().enumerate() {
        if stop.requested() {
            break;
        }
        watch(done, asked.len(), &format!("{}/{}", one.event, one.delivery));
        let row = row::measure(one, plan, stop);
        // A row that was cut short says nothing that it would not have said in full.
        if !stop.requested() {
            results.push(row);
        }
    }
    Report {
        version: VERSION,
        overstep: env!("CARGO_PKG_VERSION").to_owned(),
        depth: plan.depth,
        partial: stop.requested(),
        trusted: trusted(&results),
        results,
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
