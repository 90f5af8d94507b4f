//! Count: workloads of known length, with and without signals. Comparing the two is the question this tool began with;
//! on its own it cannot see skid, since what slipped past is counted as well.

use super::one::{Found, Named};
use crate::precision::event::{Delivery, Event, Nature};
use crate::precision::judge::Verdict;
use crate::precision::judge::count::{Count, by_each_signal, judge};
use crate::precision::judge::delivered::shared;
use crate::precision::measure::{Arming, Handler, Pages, Spec, observe};
use crate::precision::plan::{Depth, Plan, Pmu};
use crate::precision::report::model::Group;
use crate::precision::suite::trouble;
use crate::precision::workload::program::EPILOGUE;
use crate::precision::workload::{Path, class};

/// So long that no overflow comes.
const NEVER: u64 = 1 << 40;
/// A hardware counter's period with signals: some hundred of them, or some twenty where each instruction is a step.
const PERIOD: u64 = 10_007;
const EMULATED_PERIOD: u64 = 751;
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
        (Signals::Each, Nature::Counter) if plan.pmu == Pmu::Emulated => EMULATED_PERIOD,
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
    let mut observation = match observe(&spec, 0) {
        Ok(observation) => observation,
        Err(trouble) => return Found::new(trouble::verdict(&trouble, event), "", Vec::new()),
    };
    let path = Path::of(&workload);
    let disarmed_late = event.nature() == Nature::Counter && observation.until_disarmed(&path);
    let instructions = iterations * rounds * path.length() + EPILOGUE;
    let handler = Handler::of_code();
    let expected = match event {
        Event::Breakpoint | Event::PageFaults => iterations * rounds,
        // One branch an iteration: the one back.
        Event::Branches => iterations,
        // The handler's counted instructions are known, too. The last signal's are not all in where it came with the
        // disarming call: it has only stopped the counter.
        _ => {
            let last = if disarmed_late { handler.tail } else { 0 };
            instructions + observation.signals * handler.instructions() - last
        }
    };
    let found = Count {
        expected,
        counted: observation.count,
        instructions,
        page_faults: observation.faults,
        context_switches: observation.switches,
        signals: observation.signals,
        shared: shared(observation.enabled, observation.running),
    };
    let verdict = match (event.nature(), signals) {
        (Nature::Counter, Signals::Each) if found.signals == 0 => Verdict::fail("no signal came"),
        (nature, _) => judge(nature, &found),
    };
    let residue = match (event.nature(), by_each_signal(&found)) {
        (Nature::Counter, Some(each)) => format!(
            ", {each} a signal beyond the {} instructions of the handler that are counted",
            handler.instructions()
        ),
        _ => String::new(),
    };
    let text = format!(
        "counted {} of {} ({:+}), {} signals{residue}, {} page faults, {} context switches",
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
