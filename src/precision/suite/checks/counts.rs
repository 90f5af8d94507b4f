//! Count: workloads of known length, with and without signals. Comparing the two is the question this tool began with;
//! on its own it cannot see skid, since what slipped past is counted as well.

use super::one::{Found, Named};
use crate::precision::event::{Delivery, Event, Nature};
use crate::precision::judge::Verdict;
use crate::precision::judge::count::{Count, judge};
use crate::precision::measure::{Arming, Pages, Spec, observe};
use crate::precision::plan::{Depth, Plan};
use crate::precision::report::model::Group;
use crate::precision::suite::trouble;
use crate::precision::workload::program::EPILOGUE;
use crate::precision::workload::{Path, class};

/// So long that no overflow comes.
const NEVER: u64 = 1 << 40;
/// A hardware counter's period with signals.
const PERIOD: u64 = 10_007;
/// Instructions that the counters are to count, at least.
const MILLION: u64 = 1_000_000;

pub(super) const ALL: &[Named] = &[
    Named::new(Group::Count, "breakpoint, without signals", |plan| {
        count(&Event::Breakpoint, Signals::None, plan)
    }),
    Named::new(Group::Count, "breakpoint, with signals", |plan| {
        count(&Event::Breakpoint, Signals::Each, plan)
    }),
    Named::new(Group::Count, "page-faults, without signals", |plan| {
        count(&Event::PageFaults, Signals::None, plan)
    }),
    Named::new(Group::Count, "page-faults, with signals", |plan| {
        count(&Event::PageFaults, Signals::Each, plan)
    }),
    Named::new(Group::Count, "instructions, without signals", |plan| {
        count(&Event::Instructions, Signals::None, plan)
    }),
    Named::new(Group::Count, "instructions, with signals", |plan| {
        count(&Event::Instructions, Signals::Each, plan)
    }),
    Named::new(Group::Count, "branches, without signals", |plan| {
        count(&Event::Branches, Signals::None, plan)
    }),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signals {
    None,
    Each,
}

fn count(event: &Event, signals: Signals, plan: &Plan) -> Found {
    let delivery = Delivery::Sigtrap;
    let (workload, iterations, rounds, pages) = match event {
        Event::PageFaults => (class::page_store(), 500, 20, Pages::Fresh),
        Event::Breakpoint => (class::nop(), exact(plan), 1, Pages::Present),
        _ => (class::alu(), MILLION / 4 / plan.slowness(), 1, Pages::Present),
    };
    let period = match (signals, event.nature()) {
        (Signals::None, _) => NEVER,
        (Signals::Each, Nature::Counter) => PERIOD,
        (Signals::Each, _) => 1,
    };
    let mut attr = event.attr(period, 0, delivery, &workload);
    attr.__bindgen_anon_1.sample_period = period;
    let spec = Spec {
        attr,
        delivery,
        nature: event.nature(),
        workload,
        iterations,
        rounds,
        pages,
        arming: Arming::Enable,
        cpu: plan.cpu,
        patience: plan.patience(),
    };
    let observation = match observe(&spec, 0) {
        Ok(observation) => observation,
        Err(trouble) => return Found::new(trouble::verdict(&trouble, event), "", Vec::new()),
    };
    let expected = match event {
        Event::Breakpoint | Event::PageFaults => iterations * rounds,
        // One branch an iteration: the one back.
        Event::Branches => iterations,
        _ => iterations * Path::of(&workload).length() + EPILOGUE,
    };
    let found = Count {
        expected,
        counted: observation.count,
        page_faults: observation.faults,
        context_switches: observation.switches,
        signals: observation.signals,
    };
    // The handler's own instructions are counted with signals: a constant for each, which "handler tail" is about.
    let verdict = match (event.nature(), signals) {
        (Nature::Counter, Signals::Each) => Verdict::pass(),
        (nature, _) => judge(nature, &found),
    };
    let text = format!(
        "counted {} of {} ({:+}), {} signals, {} page faults, {} context switches",
        found.counted,
        expected,
        found.over(),
        found.signals,
        found.page_faults,
        found.context_switches
    );
    let figures = vec![
        ("expected", expected as i64),
        ("counted", found.counted as i64),
        ("over", found.over()),
        ("signals", found.signals as i64),
        ("page_faults", found.page_faults as i64),
        ("context_switches", found.context_switches as i64),
    ];
    Found::new(verdict, text, figures)
}

/// Passes of a breakpoint, each of which costs a debug exception.
const fn exact(plan: &Plan) -> u64 {
    match plan.depth {
        Depth::Quick => 10_000,
        Depth::Default => 50_000,
        Depth::Thorough => MILLION,
    }
}
