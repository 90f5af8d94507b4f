//! Place: breakpoints behind instructions that are known to swallow them.

use perf_event_open_sys::bindings::PERF_SAMPLE_IP;

use super::one::{Found, Named};
use crate::address::RuntimeAddr;
use crate::precision::event::{Delivery, Event};
use crate::precision::judge::{Verdict, placement};
use crate::precision::measure::{observe, pair};
use crate::precision::plan::Plan;
use crate::precision::report::model::Group;
use crate::precision::suite::row::{Asked, few, impossible, tally};
use crate::precision::suite::trouble;
use crate::precision::workload::{Workload, class};

const PASSES: u64 = 500;
/// `cpuid` has two bytes.
const CPUID_LENGTH: u64 = 2;
/// `nop` has one.
const NOP_LENGTH: u64 = 1;

pub(super) const ALL: &[Named] = &[
    Named::new(Group::Place, "breakpoint behind mov ss", behind_mov_ss),
    Named::new(Group::Place, "breakpoints on cpuid and behind it", |plan| {
        adjacent(class::cpuid(), CPUID_LENGTH, plan)
    }),
    Named::new(Group::Place, "breakpoints on two neighbours", |plan| {
        adjacent(class::nop(), NOP_LENGTH, plan)
    }),
    Named::new(Group::Place, "sample IP: breakpoint", |plan| sample(Event::Breakpoint, 0, plan)),
    Named::new(Group::Place, "sample IP: page-faults", |plan| sample(Event::PageFaults, 0, plan)),
    Named::new(Group::Place, "sample IP: cpu-clock", |plan| sample(Event::CpuClock, 0, plan)),
    Named::new(Group::Place, "sample IP: instructions", |plan| sample(Event::Instructions, 0, plan)),
    Named::new(Group::Place, "sample IP: instructions:pp", |plan| sample(Event::Instructions, 2, plan)),
];

/// The sample's IP in the ring buffer beside the signal's RIP: for information, since `precise_ip` betters the one and
/// not the other, and since a sample is where the signal is even for a clock.
fn sample(event: Event, precise: u8, plan: &Plan) -> Found {
    if let Some(reason) = impossible(&event, plan) {
        return Found::skip(reason);
    }
    let asked = Asked { event, precise, delivery: Delivery::Fasync };
    let mut spec = few(&asked, PASSES / plan.slowness().min(5), plan);
    spec.attr.sample_type = PERF_SAMPLE_IP.into();
    match observe(&spec, 0) {
        Ok(observation) => {
            let same = observation.stops.iter().filter(|stop| stop.sample == stop.rip).count();
            let text = format!("the saved RIP in {same} of {}", observation.stops.len());
            let figures = vec![("signals", observation.stops.len() as i64), ("same", same as i64)];
            Found::new(Verdict::pass(), text, figures)
        }
        Err(trouble) => Found::new(trouble::of_row(&trouble, &asked), "", Vec::new()),
    }
}

fn behind_mov_ss(plan: &Plan) -> Found {
    let asked = Asked { event: Event::Breakpoint, precise: 0, delivery: Delivery::Sigtrap };
    match tally(&asked, class::behind_mov_ss(), PASSES, plan) {
        Ok(tally) => {
            let (verdict, text) =
                placement::behind_mov_ss(tally.place.at_expected, tally.place.signals, PASSES);
            Found::new(
                verdict,
                text,
                vec![("passes", PASSES as i64), ("signals", tally.place.signals as i64)],
            )
        }
        Err(trouble) => Found::new(trouble::verdict(&trouble, &Event::Breakpoint), "", Vec::new()),
    }
}

/// Breakpoints on the workload's subject and on what follows it: both have to fire each time (perf's `bp_signal` test
/// counts that; here the RIPs have to alternate as well).
fn adjacent(workload: Workload, length: u64, plan: &Plan) -> Found {
    let second = RuntimeAddr(workload.subject.0 + length);
    match pair::observe(workload, second, PASSES, plan.cpu, plan.patience()) {
        Ok(observation) => {
            let places: Vec<_> = observation.stops.iter().map(|stop| stop.rip).collect();
            let (verdict, text) =
                placement::adjacent(&places, workload.subject, second, PASSES, workload.name);
            let figures = vec![("passes", PASSES as i64), ("signals", places.len() as i64)];
            Found::new(verdict, text, figures)
        }
        Err(trouble) => Found::new(trouble::verdict(&trouble, &Event::Breakpoint), "", Vec::new()),
    }
}
