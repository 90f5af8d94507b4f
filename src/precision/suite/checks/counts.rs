//! Count: workloads of known length, with and without signals. Comparing the two is the question this tool began with;
//! on its own it cannot see skid, since what slipped past is counted as well.

use super::one::{Found, Named};
use crate::precision::event::{Delivery, Event, Nature};
use crate::precision::judge::Verdict;
use crate::precision::judge::count::{Count, by_each_signal, judge};
use crate::precision::judge::delivered::shared;
use crate::precision::measure::{Arming, Handler, Pages, Spec, observe};
use crate::precision::plan::{Plan, Pmu};
use crate::precision::report::model::Group;
use crate::precision::suite::row::impossible;
use crate::precision::suite::trouble;
use crate::precision::workload::program::EPILOGUE;
use crate::precision::workload::{Path, Workload, class, long};

/// So long that no overflow comes.
const NEVER: u64 = 1 << 40;
/// A hardware counter's period with signals: some hundred of them, or some twenty where each instruction is a step.
const PERIOD: u64 = 10_007;
const EMULATED_PERIOD: u64 = 503;
/// The same of branches, of which there is one in six instructions.
const BRANCHES_PERIOD: u64 = 1_009;
const EMULATED_BRANCHES_PERIOD: u64 = 101;
/// Instructions that a workload has, at least.
const MILLION: u64 = 1_000_000;
/// Pages of a round, which are given back in between.
const PAGES: u64 = 500;

pub(super) const ALL: &[Named] = &[
    named("breakpoint, without signals", |plan| count(&Event::Breakpoint, Signals::None, plan)),
    named("breakpoint, with signals", |plan| count(&Event::Breakpoint, Signals::Each, plan)),
    named("page-faults, without signals", |plan| count(&Event::PageFaults, Signals::None, plan)),
    named("page-faults, with signals", |plan| count(&Event::PageFaults, Signals::Each, plan)),
    named("context-switches, without signals", |plan| count(&Event::ContextSwitches, Signals::None, plan)),
    named("context-switches, with signals", |plan| count(&Event::ContextSwitches, Signals::Each, plan)),
    named("instructions, without signals", |plan| count(&Event::Instructions, Signals::None, plan)),
    named("instructions, with signals", |plan| count(&Event::Instructions, Signals::Each, plan)),
    named("branches, without signals", |plan| count(&Event::Branches, Signals::None, plan)),
    named("branches, with signals", |plan| count(&Event::Branches, Signals::Each, plan)),
];

const fn named(name: &'static str, run: fn(&Plan) -> Found) -> Named {
    Named::new(Group::Count, name, run)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signals {
    None,
    Each,
}

/// A loop, its rounds and passes, and what its pages are before each round.
fn load(event: &Event, plan: &Plan) -> (Workload, u64, u64, Pages) {
    let (workload, pages, slowness) = match event {
        Event::PageFaults => (long::page_store(), Pages::Fresh, 1),
        Event::Breakpoint => (long::nops(), Pages::Present, 1),
        Event::ContextSwitches => (long::sleep(), Pages::Present, 1),
        _ => (class::alu(), Pages::Present, plan.slowness()),
    };
    let passes = (MILLION / slowness).div_ceil(Path::of(&workload).length());
    match pages {
        Pages::Fresh => (workload, passes.div_ceil(PAGES), PAGES, pages),
        Pages::Present => (workload, 1, passes, pages),
    }
}

const fn period(event: &Event, signals: Signals, plan: &Plan) -> u64 {
    match (signals, event, plan.pmu) {
        (Signals::None, _, _) => NEVER,
        (Signals::Each, Event::Branches, Pmu::Hardware) => BRANCHES_PERIOD,
        (Signals::Each, Event::Branches, Pmu::Emulated) => EMULATED_BRANCHES_PERIOD,
        (Signals::Each, Event::Instructions, Pmu::Hardware) => PERIOD,
        (Signals::Each, Event::Instructions, Pmu::Emulated) => EMULATED_PERIOD,
        (Signals::Each, _, _) => 1,
    }
}

fn count(event: &Event, signals: Signals, plan: &Plan) -> Found {
    if let Some(reason) = impossible(event, plan) {
        return Found::skip(reason);
    }
    let delivery = Delivery::Sigtrap;
    let (workload, rounds, iterations, pages) = load(event, plan);
    let period = period(event, signals, plan);
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
        // What the thread gave up the CPU for; a sleep that is over before it began does not.
        Event::ContextSwitches => observation.switches - observation.preemptions,
        Event::Branches => iterations * path.branches().len() as u64 + observation.signals * handler.branches,
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
        preemptions: observation.preemptions,
        signals: observation.signals,
        shared: shared(observation.enabled, observation.running),
    };
    let verdict = match (event.nature(), signals) {
        (Nature::Counter, Signals::Each) if found.signals == 0 => Verdict::fail("no signal came"),
        (nature, _) => judge(nature, &found),
    };
    let of_handler = match event {
        Event::Branches => format!("{} branches", handler.branches),
        _ => format!("{} instructions", handler.instructions()),
    };
    let residue = match (event.nature(), by_each_signal(&found)) {
        (Nature::Counter, Some(each)) => {
            format!(", {each} a signal beyond the {of_handler} of the handler that are counted")
        }
        _ => String::new(),
    };
    let text = format!(
        "counted {} of {} ({:+}) in {} instructions, {} signals{residue}, {} page faults, {} context switches",
        found.counted,
        expected,
        found.over(),
        instructions,
        found.signals,
        found.page_faults,
        found.context_switches
    );
    let figures = vec![
        ("expected", expected as i64),
        ("counted", found.counted as i64),
        ("over", found.over()),
        ("instructions", instructions as i64),
        ("signals", found.signals as i64),
        ("page_faults", found.page_faults as i64),
        ("context_switches", found.context_switches as i64),
        ("preemptions", found.preemptions as i64),
    ];
    Found::new(verdict, text, figures)
}
