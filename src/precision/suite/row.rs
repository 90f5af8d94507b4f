//! One row: an event at one precise level by one delivery.

use super::classes;
use crate::event::kernel::{CLOCK_REFRESH_HANG, Version};
use crate::event::open;
use crate::precision::event::{Delivery, Event, Nature};
use crate::precision::judge::Verdict;
use crate::precision::judge::counter::{self, Setup, Stopped, Unit};
use crate::precision::judge::delivered::Delivered;
use crate::precision::judge::place::Place;
use crate::precision::judge::row::{Control, judge, synchronous};
use crate::precision::measure::isolated::Trouble;
use crate::precision::measure::{Arming, Pages, Spec, observe};
use crate::precision::plan::{Plan, Pmu};
use crate::precision::report::model::{Figures, Row};
use crate::precision::workload::{Path, Touches, Workload, class};

/// Overflows of one child's run: below what its record holds.
const BATCH: u64 = 10_000;
/// Pages that a round of page faults touches.
const PAGES: u64 = 500;
/// Nanoseconds between a clock's overflows; the kernel makes less than 10,000 that.
const CLOCK_PERIOD: u64 = 20_000;
/// Cycles between overflows: as long as [`CLOCK_PERIOD`] at some gigahertz.
const CYCLES_PERIOD: u64 = 50_021;
/// The same where one is counted for each instruction, and each is a step.
const EMULATED_CYCLES_PERIOD: u64 = 1_009;
/// Rounds in which a clock overflows some hundred times.
const CLOCK_ROUNDS: u64 = 20;

/// Pages that a counter's loop touches at most: 64 MiB.
const COUNTER_PAGES: u64 = 1 << 14;

/// Instructions of a loop, at most: as much longer than asked for can a period be.
const LONGEST_LOOP: u64 = 32;
/// Signals of the batch that finds out the handler's share.
const FEW: u64 = 10;
/// Batches without a signal before there will be none: a lost one ends a batch whose counter it should have armed again.
const SILENT: u32 = 5;

/// What is measured in one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub event: Event,
    pub precise: u8,
    pub delivery: Delivery,
}

/// What earlier batches of a counter have found out.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tuning {
    /// Occurrences of the handler's that are counted at each stop.
    overhead: Option<u64>,
    /// Shorter periods are reached by the skid.
    shortest: u64,
}

/// Signals of a row or class so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub delivered: Delivered,
    pub place: Place,
}

/// Measures a row, until it has its signals or the plan's stop is requested.
pub(super) fn measure(asked: &Asked, plan: &Plan) -> Row {
    if let Some(reason) = impossible(&asked.event, plan) {
        return without_figures(asked, Verdict::skip(reason));
    }
    let wanted = match (asked.event.nature(), asked.delivery) {
        (Nature::Clock, _) if asked.event.is_hardware() => plan.cycles_signals(),
        (Nature::Clock, _) | (_, Delivery::SigtrapBlocked) => plan.clock_signals(),
        _ if Control::of(&asked.event, asked.precise, asked.delivery).is_some() => plan.control_signals(),
        _ => plan.signals_at(asked.precise, &asked.event),
    };
    match tally(asked, workload(&asked.event), wanted, plan) {
        Err(trouble) => without_figures(asked, super::trouble::of_row(&trouble, asked)),
        Ok(mut tally) => {
            let classes = classes::measure(asked, plan);
            for class in &classes {
                tally.place.merge(&class.tally.place);
                tally.delivered.merge(&class.tally.delivered);
            }
            let rows: Vec<_> = classes.into_iter().map(|class| class.row).collect();
            Row { classes: rows, ..with_figures(asked, &tally) }
        }
    }
}

/// Why the event must not be opened here, or could not be measured.
pub(super) fn impossible(event: &Event, plan: &Plan) -> Option<String> {
    forbidden(event, Version::running()).or_else(|| not_under(plan.pmu, event))
}

/// Why the event must not even be opened on this kernel: one that cannot be told may be one that hangs.
fn forbidden(event: &Event, kernel: Option<Version>) -> Option<String> {
    let is_clock = matches!(event, Event::CpuClock | Event::TaskClock);
    match kernel {
        Some(kernel) if is_clock && CLOCK_REFRESH_HANG.affects(kernel) => {
            Some(format!("{}: {}", CLOCK_REFRESH_HANG.name, CLOCK_REFRESH_HANG.answer))
        }
        None if is_clock => Some(format!(
            "the kernel's version cannot be read, and a clock hangs some ({}); mount -t proc proc /proc",
            CLOCK_REFRESH_HANG.name
        )),
        _ => None,
    }
}

/// Why the event cannot be measured with this PMU.
fn not_under(pmu: Pmu, event: &Event) -> Option<String> {
    (pmu == Pmu::Emulated && *event == Event::ContextSwitches).then(|| {
        "under overstep emulate each stop of the program is a context switch itself, whose signal stops it again: run \
         validate without emulate for this line"
            .to_owned()
    })
}

/// The loop in which the event overflows.
fn workload(event: &Event) -> Workload {
    match event {
        // A clock has the page faults' own loop: it is asked the same question.
        Event::PageFaults | Event::CpuClock | Event::TaskClock | Event::Cycles => class::page_store(),
        Event::ContextSwitches => class::sleep(),
        Event::Tracepoint(_) => class::behind_syscall(),
        _ => class::nop(),
    }
}

/// Runs batches until `wanted` signals have come.
pub(super) fn tally(asked: &Asked, workload: Workload, wanted: u64, plan: &Plan) -> Result<Tally, Trouble> {
    let path = Path::of(&workload);
    let mut tally = Tally::default();
    let (mut silent, mut tuning) = (0, Tuning::default());
    while tally.place.signals < wanted && !plan.stop.requested() {
        let left = wanted - tally.place.signals;
        let before = tally.place.signals;
        match asked.event.nature() {
            Nature::Counter => {
                let part = if tuning.overhead.is_none() { left.clamp(2, FEW) } else { left };
                let (spec, setup) = counter_batch(asked, workload, part, tuning, plan);
                let mut observation = observe(&spec, 0)?;
                let behind_loop = observation.until_disarmed(&path);
                let counted = counter::judge(&observation, &path, setup);
                // In a loop of two periods and more, the first signal is in it unless it is a whole period late.
                let all_behind = part > 1 && behind_loop && counted.place.signals == 0;
                if counted.reaches(setup.period) || all_behind {
                    // Two periods on, the next overflow and a late interrupt look alike: with a longer one they do not.
                    if let Some(longer) =
                        plan.periods().iter().find(|period| **period > setup.period + LONGEST_LOOP)
                    {
                        tally = Tally::default();
                        tuning = Tuning { overhead: None, shortest: *longer };
                        continue;
                    }
                    tally.delivered.too_short = Some(setup.period);
                    tally.delivered.add(&observation, asked.delivery);
                    break;
                }
                observation.asked = counted.overflows;
                tally.delivered.add(&observation, asked.delivery);
                tuning.overhead = Some(counted.overhead.unsigned_abs());
                tally.place.merge(&counted.place);
            }
            nature => {
                let (spec, overflows) = batch(asked, workload, left, plan);
                let mut observation = observe(&spec, overflows)?;
                if overflows == 0 {
                    let clock = nature == Nature::Clock;
                    observation.asked = if clock { observation.signals } else { observation.count };
                }
                tally.delivered.add(&observation, asked.delivery);
                tally.place.add(&observation, &path);
            }
        }
        silent = if tally.place.signals == before { silent + 1 } else { 0 };
        if silent == SILENT {
            break;
        }
    }
    Ok(tally)
}

/// One batch of a counter: a loop that is long enough for `left` overflows. From one stop to the next the loop retires the
/// period less the handler's share, `overhead`: once that is known, the period is made such that overflows go through
/// every instruction of the loop.
pub(super) fn counter_batch(
    asked: &Asked,
    workload: Workload,
    left: u64,
    tuning: Tuning,
    plan: &Plan,
) -> (Spec, Setup) {
    let unit = if asked.event == Event::Branches { Unit::Branches } else { Unit::Instructions };
    let each = unit.per_iteration(&Path::of(&workload)).max(1);
    let least = accepted_period(asked, workload, tuning.shortest, plan);
    let coprime = |period: &u64| gcd(period.saturating_sub(tuning.overhead.unwrap_or(0)), each) == 1;
    let period = (least..least + each).find(coprime).unwrap_or(least);
    let long_enough = (left.min(BATCH) * period).div_ceil(each);
    let iterations = match workload.touches {
        Touches::OnePage => long_enough,
        Touches::PageEach => long_enough.min(COUNTER_PAGES),
    };
    let (arming, stopped) = match asked.delivery {
        Delivery::Fasync => (Arming::Refresh(1), Stopped::ByLimit),
        Delivery::Sigtrap | Delivery::SigtrapBlocked => (Arming::Enable, Stopped::ByHandler),
    };
    let setup = Setup { unit, iterations, period, stopped };
    let spec = Spec {
        attr: asked.event.attr(setup.period, asked.precise, asked.delivery, &workload),
        delivery: asked.delivery,
        nature: Nature::Counter,
        workload,
        iterations: setup.iterations,
        rounds: 1,
        pages: Pages::Present,
        arming,
        cpu: plan.cpu,
        patience: plan.patience(),
    };
    (spec, setup)
}

const fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The first of the plan's periods, from `shortest` on, that can be opened; the first of all where none can, for its error.
fn accepted_period(asked: &Asked, workload: Workload, shortest: u64, plan: &Plan) -> u64 {
    let opens = |period| {
        let attr = asked.event.attr(period, asked.precise, asked.delivery, &workload);
        open::open(&attr, asked.event.wanted(), 0).is_ok()
    };
    let periods = plan.periods();
    periods
        .iter()
        .copied()
        .find(|period| *period >= shortest && opens(*period))
        .or(periods.first().copied())
        .unwrap_or(1)
}

/// One batch of any event, of at most `signals`.
pub(super) fn few(asked: &Asked, signals: u64, plan: &Plan) -> Spec {
    let workload = workload(&asked.event);
    match asked.event.nature() {
        Nature::Counter => counter_batch(asked, workload, signals, Tuning::default(), plan).0,
        _ => batch(asked, workload, signals, plan).0,
    }
}

/// One batch, and the overflows that it causes; 0 where only the event can know.
fn batch(asked: &Asked, workload: Workload, left: u64, plan: &Plan) -> (Spec, u64) {
    let left = left.min(BATCH);
    let (iterations, rounds, pages, period, overflows) = match (&asked.event, asked.delivery) {
        (Event::PageFaults, _) => {
            let rounds = left.div_ceil(PAGES);
            (PAGES, rounds, Pages::Fresh, 1, PAGES * rounds)
        }
        (Event::Cycles, _) => {
            let period = match plan.pmu {
                Pmu::Hardware => CYCLES_PERIOD,
                Pmu::Emulated => EMULATED_CYCLES_PERIOD,
            };
            (PAGES, CLOCK_ROUNDS, Pages::Fresh, period, 0)
        }
        (Event::CpuClock | Event::TaskClock, _) => (PAGES, CLOCK_ROUNDS, Pages::Fresh, CLOCK_PERIOD, 0),
        (Event::ContextSwitches, _) => (left.min(1_000), 1, Pages::Present, 1, 0),
        // One overflow to a stretch in which the signal is blocked: of two, one would be lost.
        (_, Delivery::SigtrapBlocked) => (1, left, Pages::Present, 1, left),
        _ => (left, 1, Pages::Present, 1, left),
    };
    let spec = Spec {
        attr: asked.event.attr(period, asked.precise, asked.delivery, &workload),
        delivery: asked.delivery,
        nature: asked.event.nature(),
        workload,
        iterations,
        rounds,
        pages,
        arming: Arming::Enable,
        cpu: plan.cpu,
        patience: plan.patience(),
    };
    (spec, overflows)
}

fn with_figures(asked: &Asked, tally: &Tally) -> Row {
    let Tally { delivered, place } = tally;
    Row {
        verdict: judge(asked.event.nature(), asked.delivery, delivered, place),
        synchronous: synchronous(asked.event.nature(), delivered, place),
        signals: place.signals,
        at_expected: place.at_expected,
        figures: Some(Figures::of(delivered, place)),
        ..without_figures(asked, Verdict::pass())
    }
}

pub(super) fn without_figures(asked: &Asked, verdict: Verdict) -> Row {
    Row {
        event: asked.event.to_string(),
        precise: asked.precise,
        delivery: asked.delivery,
        control: Control::of(&asked.event, asked.precise, asked.delivery),
        verdict,
        synchronous: None,
        signals: 0,
        at_expected: 0,
        figures: None,
        classes: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_not_opened_where_they_hang_the_machine() {
        let forbidden =
            |event, major, minor, patch| forbidden(&event, Some(Version::new(major, minor, patch))).is_some();
        assert!(forbidden(Event::CpuClock, 6, 16, 8) && forbidden(Event::TaskClock, 6, 17, 13));
        assert!(!forbidden(Event::CpuClock, 6, 16, 7) && !forbidden(Event::CpuClock, 6, 18, 0));
        assert!(!forbidden(Event::PageFaults, 6, 17, 0));
        assert!(super::forbidden(&Event::CpuClock, None).is_some());
    }
}
