//! Delivery: POLL_IN and POLL_HUP against REFRESH(1), REFRESH(5) and ENABLE, on a breakpoint and on a software event.

use super::one::{Found, Named};
use crate::event::choose::rearm_name;
use crate::event::kernel::Version;
use crate::event::probe::breakpoint;
use crate::event::rearm;
use crate::precision::event::{Delivery, Event, Nature};
use crate::precision::judge::delivered::Delivered;
use crate::precision::judge::{Verdict, sequence};
use crate::precision::measure::{Arming, Pages, Spec, Stop, observe};
use crate::precision::plan::{Plan, Pmu};
use crate::precision::report::model::Group;
use crate::precision::suite::trouble;
use crate::precision::workload::{Path, class};
use crate::record::control::Rearm;

const IN: &str = "POLL_IN";
const HUP: &str = "POLL_HUP";
/// Passes of the loop: one more than the largest limit.
const PASSES: u64 = 6;
/// Times that an event is armed again after its limit.
const AGAIN: u64 = 100;

pub(super) const ALL: &[Named] = &[
    Named::new(Group::Delivery, "breakpoint: REFRESH(1)", |plan| limit(Event::Breakpoint, 1, plan)),
    Named::new(Group::Delivery, "breakpoint: REFRESH(5)", |plan| limit(Event::Breakpoint, 5, plan)),
    Named::new(Group::Delivery, "breakpoint: ENABLE", |plan| {
        sequence(&Event::Breakpoint, Arming::Enable, PASSES, 1, &[IN; PASSES as usize], plan)
    }),
    Named::new(Group::Delivery, "page-faults: REFRESH(1)", |plan| limit(Event::PageFaults, 1, plan)),
    Named::new(Group::Delivery, "page-faults: REFRESH(5)", |plan| limit(Event::PageFaults, 5, plan)),
    Named::new(Group::Delivery, "page-faults: REFRESH(1), 100 times", |plan| {
        sequence(&Event::PageFaults, Arming::Refresh(1), 1, AGAIN, &[HUP; AGAIN as usize], plan)
    }),
    Named::new(Group::Delivery, "breakpoint: REFRESH(1), 100 times", |plan| {
        sequence(&Event::Breakpoint, Arming::Refresh(1), 1, AGAIN, &[HUP; AGAIN as usize], plan)
    }),
    Named::new(Group::Delivery, "instructions: REFRESH(1)", |plan| limit(Event::Instructions, 1, plan)),
    Named::new(Group::Delivery, "instructions: REFRESH(5)", |plan| limit(Event::Instructions, 5, plan)),
    Named::new(Group::Delivery, "re-arm: REFRESH then PERIOD", |_| moving(Rearm::RefreshPeriod)),
    Named::new(Group::Delivery, "re-arm: limit kept above zero", |_| moving(Rearm::KeepAboveZero)),
    Named::new(Group::Delivery, "re-arm: DISABLE then ENABLE", |_| moving(Rearm::DisableEnable)),
];

/// More passes than the limit allows: the last overflow says POLL_HUP, and none comes after.
fn limit(event: Event, overflows: u32, plan: &Plan) -> Found {
    let mut wanted = vec![IN; overflows as usize - 1];
    wanted.push(HUP);
    sequence(&event, Arming::Refresh(overflows), PASSES, 1, &wanted, plan)
}

/// Of a counter: longer than a handler, so that its overflows are in the loop.
const fn counter_period(plan: &Plan) -> u64 {
    match plan.pmu {
        Pmu::Hardware => 2_003,
        Pmu::Emulated => 503,
    }
}

fn sequence(
    event: &Event,
    arming: Arming,
    iterations: u64,
    rounds: u64,
    wanted: &[&str],
    plan: &Plan,
) -> Found {
    let delivery = Delivery::Fasync;
    let (workload, pages) = match event {
        Event::PageFaults => (class::page_store(), Pages::Fresh),
        _ => (class::nop(), Pages::Present),
    };
    // Passes enough for as many overflows and one more, whatever the handlers add.
    let (period, iterations) = match event {
        Event::Instructions => {
            let period = counter_period(plan);
            (period, (iterations * period).div_ceil(Path::of(&workload).length()))
        }
        _ => (1, iterations),
    };
    let spec = Spec {
        attr: event.attr(period, 0, delivery, &workload),
        delivery,
        nature: Nature::Exact,
        workload,
        iterations,
        rounds,
        pages,
        arming,
        cpu: plan.cpu,
        patience: plan.patience(),
    };
    let observation = match observe(&spec, wanted.len() as u64) {
        Ok(observation) => observation,
        Err(trouble) => return Found::new(trouble::verdict(&trouble, event), "", Vec::new()),
    };
    let codes: Vec<_> = observation.stops.iter().map(Stop::code_name).collect();
    let mut verdict = sequence::judge(&codes, wanted, Version::running());
    let mut delivered = Delivered::default();
    delivered.add(&observation, delivery);
    if delivered.misnamed + delivered.misdirected > 0 {
        verdict = Verdict::fail(format!(
            "{} signals with another si_fd, {} to another thread",
            delivered.misnamed, delivered.misdirected
        ));
    }
    if event.is_hardware() {
        return Found::new(verdict, sequence::runs(&codes), vec![("signals", codes.len() as i64)]);
    }
    let at = observation.stops.iter().filter(|stop| stop.rip == spec.workload.subject).count();
    if at != observation.stops.len() && !verdict.outcome.is_failure() {
        verdict = Verdict::fail(format!("{at} of {} at the expected instruction", observation.stops.len()));
    }
    let figures =
        vec![("wanted", wanted.len() as i64), ("signals", codes.len() as i64), ("at_expected", at as i64)];
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
        Err(failure) => Found::new(trouble::of_probe(&failure), failure.to_string(), Vec::new()),
    }
}
