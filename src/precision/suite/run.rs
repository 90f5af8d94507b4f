//! The whole suite.

use super::checks;
use super::row::{self, Asked};
use crate::precision::event::{Delivery, Event};
use crate::precision::judge::Outcome;
use crate::precision::judge::row::Control;
use crate::precision::plan::Plan;
use crate::precision::report::machine::Machine;
use crate::precision::report::model::{Report, Row, VERSION};
use crate::precision::report::sentences::right;

/// Is told what is being measured: how many checks are done, of how many, and the name of the next.
pub type Watch<'a> = &'a dyn Fn(usize, usize, &str);

/// The names of the checks beyond the matrix, and whether `name` is one of them, or of those of an event by request.
#[must_use]
pub fn check_names(name: &str) -> (Vec<String>, bool) {
    let names =
        |events: &[Event]| checks::all(events).iter().map(|it| it.name.to_string()).collect::<Vec<_>>();
    let is_one = names(Event::of_check(name).as_slice()).iter().any(|check| check == name);
    (names(&[]), is_one)
}

/// Measures everything that `plan` asks for. A requested stop ends it early, with a partial report.
#[must_use]
pub fn run(plan: &Plan, watch: Watch) -> Report {
    let stop = plan.stop;
    let named = plan.checks.iter().flatten().filter_map(|name| Event::of_check(name));
    let mut checks = checks::all(&plan.events.iter().cloned().chain(named).collect::<Vec<_>>());
    checks.retain(|check| {
        plan.checks.as_ref().is_none_or(|names| names.iter().any(|name| *name == check.name))
    });
    let rows = rows(plan);
    let total = rows.len() + checks.len();
    let mut results = Vec::with_capacity(rows.len());
    for asked in &rows {
        if stop.requested() {
            break;
        }
        watch(results.len(), total, &format!("{}/{}", asked.event, asked.delivery));
        let row = row::measure(asked, plan);
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
        watch(rows.len() + found.len(), total, &check.name);
        let check = check.run(plan);
        if !stop.requested() {
            found.push(check);
        }
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
    for event in &plan.events {
        for precise in &plan.precise {
            for delivery in &plan.deliveries {
                let row = asked(event, *precise, *delivery);
                // A control's, or asked for twice.
                if !rows.contains(&row) {
                    rows.push(row);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::precision::judge::Verdict;
    use crate::precision::plan::{Depth, Pmu, Stop};
    use crate::precision::report::sentences::trust;

    static NEVER: Stop = Stop::new();

    fn plan(events: &[Event]) -> Plan {
        Plan {
            depth: Depth::Quick,
            events: events.to_vec(),
            deliveries: Delivery::MEASURED.to_vec(),
            precise: vec![0],
            classes: None,
            checks: None,
            cpu: None,
            signals: None,
            pmu: Pmu::Hardware,
            stop: &NEVER,
        }
    }

    /// The controls as they have to come out.
    fn controls() -> Vec<Row> {
        let row = |asked: &Asked| {
            let control = Control::of(&asked.event, asked.precise, asked.delivery);
            Row {
                synchronous: control.map(|control| control == Control::Synchronous),
                signals: 10_000,
                ..row::without_figures(asked, Verdict::pass())
            }
        };
        rows(&plan(&[])).iter().map(row).collect()
    }

    fn report(results: Vec<Row>) -> Report {
        Report {
            version: VERSION,
            overstep: String::new(),
            depth: Depth::Quick,
            partial: false,
            trusted: trusted(&results),
            machine: Machine::default(),
            results,
            checks: Vec::new(),
        }
    }

    #[test]
    fn controls_are_measured_whatever_is_asked_for_and_nothing_twice() {
        assert_eq!(rows(&plan(&[])).len(), 4);
        // Of two breakpoint rows one is a control, and so is one of the page faults'.
        assert_eq!(rows(&plan(&[Event::Breakpoint, Event::PageFaults])).len(), 6);
        assert_eq!(rows(&plan(&Event::STANDARD)).len(), 4 + 8 * 2 - 3);
        let twice = [Event::TaskClock, Event::Breakpoint, Event::TaskClock];
        assert_eq!(rows(&plan(&twice)).len(), 4 + 2 * 2 - 1);
    }

    #[test]
    fn a_wrong_control_takes_the_trust_away() {
        assert!(report(controls()).holds());
        for wrong in 0..4 {
            let mut results = controls();
            results[wrong].synchronous = results[wrong].synchronous.map(|synchronous| !synchronous);
            let report = report(results);
            assert!(!report.trusted && !report.holds(), "{wrong}");
            let name = report.results[wrong].name();
            assert!(
                trust(&report)
                    .starts_with(&format!("This report cannot be trusted: {name} did not come out"))
            );
        }
    }

    #[test]
    fn a_skipped_clock_leaves_the_blocked_signal_for_a_control() {
        let skip = |mut results: Vec<Row>, which: &[usize]| {
            for n in which {
                results[*n].verdict = Verdict::skip("not on this kernel");
                results[*n].synchronous = None;
            }
            report(results)
        };
        assert!(skip(controls(), &[2]).trusted);
        assert!(!skip(controls(), &[2, 3]).trusted, "no asynchronous control is left");
        assert!(!skip(controls(), &[0, 1]).trusted, "no synchronous control is left");
    }
}
