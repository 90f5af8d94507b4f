//! What others test of perf events, with exact figures, and with the RIP where they look at counts only.

use std::collections::BTreeMap;

use super::one::{Found, Named};
use crate::event::probe::failure::Failure;
use crate::event::probe::{breakpoint, trigger};
use crate::precision::event::{Delivery, Event, Nature};
use crate::precision::judge::{Verdict, peers};
use crate::precision::measure::isolated::Trouble;
use crate::precision::measure::{Arming, Pages, Spec, exec, observe, threads};
use crate::precision::plan::Plan;
use crate::precision::report::model::Group;
use crate::precision::suite::trouble;
use crate::precision::workload::class;

/// Of perf's `bp_signal_overflow` test.
const EXECUTIONS: u64 = 10_000;
const THRESHOLD: u64 = 100;

pub(super) const ALL: &[Named] = &[
    Named::new(Group::Peers, "sigtrap_threads: 5 threads × 3000", sigtrap_threads),
    Named::new(Group::Peers, "remove_on_exec", remove_on_exec),
    Named::new(Group::Peers, "overflow: breakpoint, period 100", |plan| {
        every_hundredth(&Event::Breakpoint, plan)
    }),
    Named::new(Group::Peers, "overflow: page-faults, period 100", |plan| {
        every_hundredth(&Event::PageFaults, plan)
    }),
    Named::new(Group::Peers, "modify: breakpoint moved at each signal", |_| probe(breakpoint::sigtrap())),
    Named::new(Group::Peers, "inherit: trigger in a new thread", |_| probe(trigger::fires_in_new_threads())),
];

fn sigtrap_threads(plan: &Plan) -> Found {
    let observation = match threads::observe(plan.cpu, plan.patience()) {
        Ok(observation) => observation,
        Err(trouble) => return Found::new(trouble::verdict(&trouble, &Event::Breakpoint), "", Vec::new()),
    };
    let mut by_thread: BTreeMap<u32, u64> = BTreeMap::new();
    for stop in &observation.stops {
        *by_thread.entry(stop.thread).or_default() += 1;
    }
    let at = observation.stops.iter().filter(|stop| stop.rip == class::nop().subject).count() as u64;
    let counts: Vec<_> = by_thread.into_values().collect();
    let text = format!(
        "{at} of {} at the breakpoint, by thread {counts:?}, counted {}",
        observation.asked, observation.count
    );
    let verdict = peers::sigtrap_threads(&counts, at, observation.count);
    let figures = vec![
        ("signals", observation.signals as i64),
        ("at_expected", at as i64),
        ("counted", observation.count as i64),
    ];
    Found::new(verdict, text, figures)
}

fn remove_on_exec(plan: &Plan) -> Found {
    match exec::observe(plan.patience()) {
        Ok(_) => Found::new(Verdict::pass(), "the next image ran without the event's signals", Vec::new()),
        Err(Trouble::Ended(Failure::Killed { signal: libc::SIGTRAP }, _)) => {
            Found::new(Verdict::fail("the event survived exec and killed the next image"), "", Vec::new())
        }
        Err(trouble) => Found::new(trouble::verdict(&trouble, &Event::PageFaults), "", Vec::new()),
    }
}

/// An overflow every hundredth time: as many signals as there have to be, each in its own iteration.
fn every_hundredth(event: &Event, plan: &Plan) -> Found {
    let delivery = Delivery::Sigtrap;
    let (workload, iterations, pages) = match event {
        Event::PageFaults => (class::page_store(), EXECUTIONS / 10, Pages::Fresh),
        _ => (class::nop(), EXECUTIONS, Pages::Present),
    };
    let mut attr = event.attr(THRESHOLD, 0, delivery, &workload);
    attr.__bindgen_anon_1.sample_period = THRESHOLD;
    let asked = iterations / THRESHOLD;
    let spec = Spec {
        attr,
        delivery,
        nature: Nature::Exact,
        workload,
        iterations,
        rounds: 1,
        pages,
        arming: Arming::Enable,
        cpu: plan.cpu,
        patience: plan.patience(),
    };
    match observe(&spec, asked) {
        Ok(observation) => {
            // The counter counts down from the number of iterations; the hundredth pass sees 99 gone.
            let passes: Vec<_> = observation.stops.iter().map(|stop| iterations - stop.left + 1).collect();
            let at = observation.stops.iter().filter(|stop| stop.rip == workload.subject).count() as u64;
            let verdict = peers::every_nth(&passes, at, asked, THRESHOLD);
            let text =
                format!("{} signals of {asked}, {at} at the expected instruction", observation.signals);
            Found::new(
                verdict,
                text,
                vec![("signals", observation.signals as i64), ("at_expected", at as i64)],
            )
        }
        Err(trouble) => Found::new(trouble::verdict(&trouble, event), "", Vec::new()),
    }
}

fn probe(result: Result<crate::event::probe::failure::Fired, Failure>) -> Found {
    match result {
        Ok(fired) => {
            let text = format!("{} of {} signals at their address", fired.hits, fired.hits);
            Found::new(Verdict::pass(), text, vec![("signals", fired.hits.into())])
        }
        Err(failure) => Found::new(trouble::of_probe(&failure), "", Vec::new()),
    }
}
