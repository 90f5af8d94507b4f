//! The period changed while the event is enabled: the idea of perf_event_tests' `ioctl_period`, which counts signals with
//! a tolerance; here each signal's place is known.

use super::one::{Found, Named};
use crate::precision::event::{Delivery, Event, Nature};
use crate::precision::judge::Verdict;
use crate::precision::judge::period::{Change, in_passes, of_counter};
use crate::precision::measure::{Arming, Observation, Pages, Spec, Stop, period};
use crate::precision::plan::{Plan, Pmu};
use crate::precision::report::model::Group;
use crate::precision::suite::trouble;
use crate::precision::workload::{Path, Workload, class};

pub(super) const ALL: &[Named] = &[
    Named::new(Group::Peers, "period changed: breakpoint", |plan| changed(&Event::Breakpoint, plan)),
    Named::new(Group::Peers, "period changed: page-faults", |plan| changed(&Event::PageFaults, plan)),
    Named::new(Group::Peers, "period changed: instructions", |plan| changed(&Event::Instructions, plan)),
];

/// Of an event whose occurrences are passes.
const PASSES: Change = Change { old: 100, new: 10 };
/// Of a counter: both longer than a handler.
const COUNTER: Change = Change { old: 40_009, new: 4_001 };
const EMULATED: Change = Change { old: 2_003, new: 251 };

/// How many periods the event is enabled for, before and after the change, in halves: the change is in the middle of one.
const HALVES: (u64, u64) = (7, 41);

fn changed(event: &Event, plan: &Plan) -> Found {
    let change = match (event.nature(), plan.pmu) {
        (Nature::Counter, Pmu::Hardware) => COUNTER,
        (Nature::Counter, Pmu::Emulated) => EMULATED,
        _ => PASSES,
    };
    let (workload, pages) = match event {
        Event::PageFaults => (class::page_store(), Pages::Fresh),
        _ => (class::nop(), Pages::Present),
    };
    let each = if event.nature() == Nature::Counter { Path::of(&workload).length() } else { 1 };
    let (before, after) = (HALVES.0 * change.old / 2 / each, HALVES.1 * change.new / 2 / each);
    let mut attr = event.attr(change.old, 0, Delivery::Sigtrap, &workload);
    attr.__bindgen_anon_1.sample_period = change.old;
    let spec = Spec {
        attr,
        delivery: Delivery::Sigtrap,
        nature: event.nature(),
        workload,
        iterations: before,
        rounds: 1,
        pages,
        arming: Arming::Enable,
        cpu: plan.cpu,
        patience: plan.patience(),
    };
    match period::observe(&spec, change.new, after) {
        Ok(observation) => found(&observation, event, workload, (before, after), change),
        Err(trouble) => Found::new(trouble::verdict(&trouble, event), "", Vec::new()),
    }
}

fn found(
    observation: &Observation,
    event: &Event,
    workload: Workload,
    (before, after): (u64, u64),
    change: Change,
) -> Found {
    let [split, counted, ..] = observation.figures.as_slice() else { return Found::skip("no figures") };
    let stops = &observation.stops;
    let (early, late) = stops.split_at((*split as usize).min(stops.len()));
    let text = format!("{} signals by period {}, {} by {}", early.len(), change.old, late.len(), change.new);
    let mut figures = vec![("before", early.len() as i64), ("after", late.len() as i64)];
    if event.nature() == Nature::Counter {
        let counts = |stops: &[Stop]| stops.iter().map(|stop| stop.count).collect::<Vec<_>>();
        let path = Path::of(&workload);
        let in_loop: Vec<_> = late.iter().filter(|stop| path.position(stop.rip).is_some()).copied().collect();
        return Found::new(of_counter(&counts(early), *counted, &counts(&in_loop), change), text, figures);
    }
    let at = stops.iter().filter(|stop| stop.rip == workload.subject).count();
    figures.push(("at_expected", at as i64));
    // The loop's counter counts down.
    let passes = |stops: &[Stop], of: u64| {
        stops.iter().map(|stop| (of + 1).saturating_sub(stop.left)).collect::<Vec<_>>()
    };
    let verdict = in_passes(&passes(early, before), &passes(late, after), after, change);
    if at < stops.len() && !verdict.outcome.is_failure() {
        let elsewhere = format!("{at} of {} at the expected instruction", stops.len());
        return Found::new(Verdict::fail(elsewhere), text, figures);
    }
    Found::new(verdict, text, figures)
}
