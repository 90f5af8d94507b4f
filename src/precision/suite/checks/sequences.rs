//! Delivery: POLL_IN and POLL_HUP against REFRESH(1), REFRESH(5) and ENABLE, of every event.

use super::one::{Found, Named, OfEvent};
use crate::event::choose::rearm_name;
use crate::event::kernel::Version;
use crate::event::probe::breakpoint;
use crate::event::rearm;
use crate::precision::event::{Delivery, Event, Nature};
use crate::precision::judge::delivered::Delivered;
use crate::precision::judge::sequence::{self, Wanted};
use crate::precision::judge::{Outcome, Verdict};
use crate::precision::measure::{Arming, Pages, Spec, Stop, observe};
use crate::precision::plan::{Plan, Pmu};
use crate::precision::report::model::Group;
use crate::precision::suite::row::impossible;
use crate::precision::suite::trouble;
use crate::precision::workload::{Path, Workload, class};
use crate::record::control::Rearm;

const IN: &str = "POLL_IN";
const HUP: &str = "POLL_HUP";
/// Overflows that the loop causes: one more than the largest limit.
const PASSES: u64 = 6;
/// Times that an event is armed again after its limit.
const AGAIN: u64 = 100;
/// Nanoseconds between a clock's overflows, and passes of a loop of some nanoseconds in which it overflows often enough.
const CLOCK_PERIOD: u64 = 100_000;
const CLOCK_PASSES: u64 = 1_000_000;
/// Cycles that a pass of the ALU chain takes, at least: its multiplication waits for three others, and takes three.
const CHAIN: u64 = 4;

/// What is the same for each event.
const EACH: [(&str, OfEvent); 3] = [
    ("REFRESH(1)", |event, plan| limit(event, 1, plan)),
    ("REFRESH(5)", |event, plan| limit(event, 5, plan)),
    ("ENABLE", |event, plan| sequence(event, Arming::Enable, 1, &free_running(event), plan)),
];

pub(super) const ALL: &[Named] = &[
    Named::new(Group::Delivery, "page-faults: REFRESH(1), 100 times", |plan| again(&Event::PageFaults, plan)),
    Named::new(Group::Delivery, "breakpoint: REFRESH(1), 100 times", |plan| again(&Event::Breakpoint, plan)),
    Named::new(Group::Delivery, "re-arm: REFRESH then PERIOD", |_| moving(Rearm::RefreshPeriod)),
    Named::new(Group::Delivery, "re-arm: limit kept above zero", |_| moving(Rearm::KeepAboveZero)),
    Named::new(Group::Delivery, "re-arm: DISABLE then ENABLE", |_| moving(Rearm::DisableEnable)),
];

/// Those of the standard events, and of `events`.
pub(super) fn of_events(events: &[Event]) -> Vec<Named> {
    let mut all = Event::STANDARD.to_vec();
    for event in events {
        if !all.contains(event) {
            all.push(event.clone());
        }
    }
    let each =
        |event: &Event| EACH.map(|(what, run)| Named::of(Group::Delivery, event, what, run)).into_iter();
    all.iter().flat_map(each).collect()
}

/// More overflows than the limit allows: the last one says POLL_HUP, and none comes after.
fn limit(event: &Event, overflows: u32, plan: &Plan) -> Found {
    let wanted = match event {
        Event::CpuClock | Event::TaskClock => Wanted::UpTo(overflows.into()),
        _ => Wanted::Exactly((1..overflows).map(|_| IN).chain([HUP]).collect()),
    };
    sequence(event, Arming::Refresh(overflows), 1, &wanted, plan)
}

/// One overflow after the other, each the last of its limit.
fn again(event: &Event, plan: &Plan) -> Found {
    sequence(event, Arming::Refresh(1), AGAIN, &Wanted::Exactly(vec![HUP; AGAIN as usize]), plan)
}

/// Without a limit none hangs up.
fn free_running(event: &Event) -> Wanted {
    match event.nature() {
        Nature::Exact | Nature::Probe => Wanted::Exactly(vec![IN; PASSES as usize]),
        Nature::Switch => Wanted::AsCounted,
        Nature::Clock | Nature::Counter => Wanted::AtLeast(PASSES),
    }
}

/// A loop in which `event` overflows [`PASSES`] times, or more: its period, passes and pages.
fn loop_of(event: &Event, rounds: u64, plan: &Plan) -> (Workload, u64, u64, Pages) {
    // Longer than a handler, so that the overflows of a counter are in the loop.
    let counter = match plan.pmu {
        Pmu::Hardware => 2_003,
        Pmu::Emulated => 503,
    };
    let passes = if rounds > 1 { 1 } else { PASSES };
    match event {
        Event::PageFaults => (class::page_store(), 1, passes, Pages::Fresh),
        Event::ContextSwitches => (class::sleep(), 1, passes, Pages::Present),
        Event::CpuClock | Event::TaskClock => (class::alu(), CLOCK_PERIOD, CLOCK_PASSES, Pages::Present),
        Event::Cycles => (class::alu(), counter, (passes * counter).div_ceil(CHAIN), Pages::Present),
        Event::Instructions | Event::Raw(_) => {
            let length = Path::of(&class::nop()).length();
            (class::nop(), counter, (passes * counter).div_ceil(length), Pages::Present)
        }
        Event::Branches => (class::nop(), counter, passes * counter, Pages::Present),
        Event::Tracepoint(_) => (class::behind_syscall(), 1, passes, Pages::Present),
        Event::Breakpoint | Event::Uprobe => (class::nop(), 1, passes, Pages::Present),
    }
}

fn sequence(event: &Event, arming: Arming, rounds: u64, wanted: &Wanted, plan: &Plan) -> Found {
    if let Some(reason) = impossible(event, plan) {
        return Found::skip(reason);
    }
    let delivery = Delivery::Fasync;
    let (workload, period, iterations, pages) = loop_of(event, rounds, plan);
    let spec = Spec {
        attr: event.attr(period, 0, delivery, &workload),
        delivery,
        // The handler leaves it alone, whatever it is.
        nature: Nature::Exact,
        workload,
        iterations,
        rounds,
        pages,
        arming,
        cpu: plan.cpu,
        patience: plan.patience(),
    };
    let observation = match observe(&spec, 0) {
        Ok(observation) => observation,
        Err(trouble) => return Found::new(trouble::verdict(&trouble, event), "", Vec::new()),
    };
    let codes: Vec<_> = observation.stops.iter().map(Stop::code_name).collect();
    let mut verdict = sequence::judge(&codes, wanted, observation.count, Version::running());
    let mut delivered = Delivered::default();
    delivered.add(&observation, delivery);
    if delivered.misnamed + delivered.misdirected > 0 {
        verdict = Verdict::fail(format!(
            "{} signals with another si_fd, {} to another thread",
            delivered.misnamed, delivered.misdirected
        ));
    }
    let mut figures = vec![("signals", codes.len() as i64)];
    if event.nature() == Nature::Exact {
        let at = observation.stops.iter().filter(|stop| stop.rip == spec.workload.subject).count();
        if at != codes.len() && matches!(verdict.outcome, Outcome::Pass | Outcome::KnownKernelBug) {
            verdict = Verdict::fail(format!("{at} of {} at the expected instruction", codes.len()));
        }
        figures.push(("at_expected", at as i64));
    }
    Found::new(verdict, sequence::runs(&codes), figures)
}

/// A breakpoint that moves on at each stop and is armed again in this way: the probe that `doctor` and `--engine auto`
/// go by.
fn moving(way: Rearm) -> Found {
    debug_assert!(rearm::ALL.contains(&way));
    match breakpoint::fasync(way) {
        Ok(fired) => {
            let text = format!(
                "{}: {} of {} moves gave a signal at their address",
                rearm_name(way),
                fired.hits,
                fired.hits
            );
            Found::new(Verdict::pass(), text, vec![("signals", fired.hits.into())])
        }
        Err(failure) => Found::new(trouble::of_probe(&failure), "", Vec::new()),
    }
}
