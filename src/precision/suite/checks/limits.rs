//! Limits: what this machine's counters, registers and settings allow.

use super::one::{Found, Named};
use crate::doctor::cpu::Cpu;
use crate::doctor::pmu::{Pmu, hz};
use crate::event::attr::counter as counter_attr;
use crate::event::environment::sysctl;
use crate::event::error::Wanted;
use crate::event::kernel::{CLOCK_REFRESH_HANG, Version};
use crate::event::open;
use crate::event::probe::counter::smallest_period as smallest;
use crate::event::probe::registers;
use crate::precision::event::{Delivery, Event, Nature};
use crate::precision::judge::delivered::shared;
use crate::precision::judge::{Verdict, counter, limits};
use crate::precision::measure::{Arming, Spec, observe};
use crate::precision::plan::Plan;
use crate::precision::report::model::Group;
use crate::precision::suite::row::{Asked, Tuning, counter_batch};
use crate::precision::suite::trouble;
use crate::precision::workload::{Path, class};
use crate::record::control;
use crate::record::counted::Counted;

pub(super) const ALL: &[Named] = &[
    Named::new(Group::Limits, "debug registers", |_| debug_registers()),
    Named::new(Group::Limits, "smallest period of instructions", |_| smallest_period()),
    Named::new(Group::Limits, "handler tail", handler_tail),
    Named::new(Group::Limits, "throttling of instructions", throttling),
    Named::new(Group::Limits, "counters at once", |_| counters_at_once()),
    Named::new(Group::Limits, "clock-refresh-hang", |_| clock_hang()),
    Named::new(Group::Limits, "NMI watchdog", |_| watchdog()),
    Named::new(Group::Limits, "hypervisor", |_| hypervisor()),
    Named::new(Group::Limits, "core types", |_| core_types()),
];

const INSTRUCTIONS: Wanted = Wanted::Counter(Counted::Instructions);
/// Signals of the runs for the tail and for throttling.
const SIGNALS: u64 = 1_000;
/// Signals for the tail, at least: over-counting may be in one step of eight.
const ENOUGH: u64 = 25;
/// Makes a period longer than a handler, whose instructions a free-running counter counts.
const LONGER: u64 = 500;
/// More counters than most PMUs have; with as many, there may be more.
const MANY: usize = 32;

fn debug_registers() -> Found {
    match registers::free() {
        Ok(free) => {
            let text = format!("{free} of 4 free for this thread");
            Found::new(limits::debug_registers(free), text, vec![("free", free.into())])
        }
        Err(error) => Found::skip(error.to_string()),
    }
}

fn smallest_period() -> Found {
    match smallest(Counted::Instructions) {
        Ok(1) => Found::new(
            Verdict::pass(),
            "1 is accepted; the kernel counts at least 2 (x86_perf_event_set_period)",
            vec![("accepted", 1)],
        ),
        Ok(period) => Found::new(
            Verdict::pass(),
            format!("{period}; less is refused"),
            vec![("accepted", i64::from(period as i32))],
        ),
        Err(error) => Found::skip(error.to_string()),
    }
}

fn handler_tail(plan: &Plan) -> Found {
    let asked = Asked { event: Event::Instructions, precise: 0, delivery: Delivery::Fasync };
    let workload = class::nop();
    let signals = (SIGNALS / plan.slowness()).max(ENOUGH);
    let (spec, setup) = counter_batch(&asked, workload, signals, Tuning::default(), plan);
    match observe(&spec, 0) {
        Ok(mut observation) => {
            let path = Path::of(&workload);
            observation.until_disarmed(&path);
            let counted = counter::judge(&observation, &path, setup);
            let (verdict, text) = limits::handler_tail(&counted);
            Found::new(verdict, text, vec![("tail", counted.overhead), ("steady", counted.steady as i64)])
        }
        Err(trouble) => Found::new(trouble::verdict(&trouble, &asked.event), "", Vec::new()),
    }
}

/// A free-running counter, armed once: overflows beyond the limit of a tick are held back.
fn throttling(plan: &Plan) -> Found {
    let asked = Asked { event: Event::Instructions, precise: 0, delivery: Delivery::Fasync };
    let (spec, setup) =
        counter_batch(&asked, class::nop(), 100 * SIGNALS / plan.slowness(), Tuning::default(), plan);
    // The handler leaves the event alone, and its own instructions only add to the overflows.
    let mut spec = Spec { nature: Nature::Exact, arming: Arming::Enable, ..spec };
    let period = setup.period + LONGER;
    spec.attr.__bindgen_anon_1.sample_period = period;
    match observe(&spec, 0) {
        Ok(observation) => {
            let rate = sysctl("kernel/perf_event_max_sample_rate").and_then(|rate| u64::try_from(rate).ok());
            let limit = limits::Limit { rate, hz: hz() };
            let shared = shared(observation.enabled, observation.running);
            let held = limits::held_back(&observation, &Path::of(&spec.workload));
            // What is held back is not counted either: the count is what the signals have to agree with.
            let counted =
                limits::Overflows { counted: observation.count / period, signals: observation.signals };
            let (mut verdict, text) = limits::throttling(counted, held, limit);
            if let Some(shared) = shared {
                verdict = Verdict::fail(shared);
            }
            let mut figures =
                vec![("asked", counted.counted as i64), ("signals", observation.signals as i64)];
            figures.extend(held.map(|held| ("limit", held as i64)));
            Found::new(verdict, text, figures)
        }
        Err(trouble) => Found::new(trouble::verdict(&trouble, &asked.event), "", Vec::new()),
    }
}

/// Pinned counters, which never share: how many hold a counter at the same time.
fn counters_at_once() -> Found {
    let mut attr = counter_attr(Counted::Instructions, 1 << 40, control::Delivery::Fasync, 0);
    attr.set_pinned(1);
    attr.set_disabled(0);
    let mut held = Vec::new();
    while held.len() < MANY {
        match open::open(&attr, INSTRUCTIONS, 0) {
            // A pinned event without a counter reads as end of file (perf_event_open(2)).
            Ok(event) => held.push(event),
            Err(error) if held.is_empty() => return Found::skip(error.to_string()),
            Err(_) => break,
        }
    }
    let counting = held.iter().filter(|event| limits::holds_a_counter(event)).count();
    let (verdict, text) = limits::counters_at_once(counting, held.len(), MANY);
    Found::new(verdict, text, vec![("counters", counting as i64), ("tried", held.len() as i64)])
}

fn clock_hang() -> Found {
    match Version::running() {
        Some(kernel) if CLOCK_REFRESH_HANG.affects(kernel) => {
            let verdict = limits::known(CLOCK_REFRESH_HANG.name, CLOCK_REFRESH_HANG.what);
            Found::new(verdict, CLOCK_REFRESH_HANG.answer, Vec::new())
        }
        Some(kernel) => {
            Found::new(Verdict::pass(), format!("Linux {kernel} is not among those that hang"), Vec::new())
        }
        None => Found::skip("the kernel's version cannot be read"),
    }
}

fn watchdog() -> Found {
    match sysctl("kernel/nmi_watchdog") {
        Some(0) => Found::new(Verdict::pass(), "off", vec![("on", 0)]),
        Some(on) => Found::new(Verdict::pass(), "on: it holds one counter of each CPU", vec![("on", on)]),
        None => Found::skip("this kernel has none"),
    }
}

fn hypervisor() -> Found {
    let text = Cpu::read()
        .hypervisor
        .map_or_else(|| "none, or it hides".to_owned(), |name| format!("a {name} guest"));
    Found::new(Verdict::pass(), text, Vec::new())
}

fn core_types() -> Found {
    let pmus: Vec<_> = Pmu::all().into_iter().filter(Pmu::is_of_cpu).collect();
    let told = |pmu: &Pmu| match &pmu.cpus {
        Some(cpus) => format!("{} on CPUs {cpus}", pmu.name),
        None => pmu.name.clone(),
    };
    match pmus.as_slice() {
        [] => Found::skip("no PMU of the CPU's own here"),
        [one] => Found::new(Verdict::pass(), told(one), vec![("types", 1)]),
        several => {
            let names: Vec<_> = several.iter().map(told).collect();
            let text = format!("{}; choose one with --cpu", names.join(", "));
            Found::new(Verdict::pass(), text, vec![("types", several.len() as i64)])
        }
    }
}
