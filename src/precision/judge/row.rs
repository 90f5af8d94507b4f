//! The verdict on one event at one precise level by one delivery.

use serde::{Deserialize, Serialize};

use super::delivered::Delivered;
use super::outcome::{Outcome, Verdict};
use super::place::Place;
use super::statistics::SYNCHRONOUS;
use crate::precision::event::{Delivery, Event, Nature};

/// What a control has to come out as, or the report cannot be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Control {
    Synchronous,
    Asynchronous,
}

/// Whether signals come where their overflow happened; `None` where too few came to say so.
pub type Synchronous = Option<bool>;

impl Control {
    /// What the row is a control for, if it is one.
    #[must_use]
    pub fn of(event: &Event, precise: u8, delivery: Delivery) -> Option<Self> {
        match (event, precise, delivery) {
            (Event::Breakpoint, 0, Delivery::Sigtrap) | (Event::PageFaults, 0, Delivery::Fasync) => {
                Some(Self::Synchronous)
            }
            (Event::CpuClock, 0, Delivery::Fasync) | (Event::Breakpoint, 0, Delivery::SigtrapBlocked) => {
                Some(Self::Asynchronous)
            }
            _ => None,
        }
    }

    /// Whether the control came out right.
    #[must_use]
    pub fn holds(self, synchronous: Synchronous) -> bool {
        synchronous == Some(self == Self::Synchronous)
    }
}

/// Whether the signals in `place` were synchronous: one elsewhere says no, 10,000 without, and none lost, say yes. Of a context switch,
/// as many as the scheduler forced may be anywhere: where those had to be nobody knows, and then it says nothing.
#[must_use]
pub fn synchronous(nature: Nature, delivered: &Delivered, place: &Place) -> Synchronous {
    if matches!(nature, Nature::Counter) && delivered.unmeasurable().is_some() {
        return None;
    }
    match (place.elsewhere(), place.at_expected) {
        (1.., _) if nature == Nature::Switch && place.elsewhere() <= delivered.preemptions => None,
        (1.., _) => Some(false),
        // Where a lost signal had been nobody knows.
        (_, SYNCHRONOUS..) if delivered.lost() == 0 => Some(true),
        _ => None,
    }
}

/// Judges what came of an event of this nature.
#[must_use]
pub fn judge(nature: Nature, delivery: Delivery, delivered: &Delivered, place: &Place) -> Verdict {
    let blocked = delivery == Delivery::SigtrapBlocked;
    if let Some(reason) = delivered.unmeasurable() {
        return Verdict::fail(reason);
    }
    if delivered.received == 0 {
        return Verdict::fail(format!(
            "no signal came: 0 of {} overflows, the event counted {}",
            delivered.asked, delivered.counted
        ));
    }
    if delivered.alien > 0 {
        return Verdict::fail(format!("{} signals of another kind: {}", delivered.alien, codes(delivered)));
    }
    if delivered.misnamed > 0 {
        return Verdict::fail(format!("{} signals named another event", delivered.misnamed));
    }
    if delivered.misdirected > 0 {
        return Verdict::fail(format!("{} signals came to another thread", delivered.misdirected));
    }
    match (blocked, delivered.flagged) {
        (true, flagged) if flagged < delivered.received => {
            return Verdict::fail(format!(
                "{} of {} blocked signals did not carry the ASYNC flag",
                delivered.received - flagged,
                delivered.received
            ));
        }
        // A clock and a counter go on while the handler runs, in which the signal is blocked.
        (false, 1..) if nature == Nature::Exact => {
            return Verdict::fail(format!(
                "{} signals carried the ASYNC flag, and none was blocked",
                delivered.flagged
            ));
        }
        _ => {}
    }
    match nature {
        Nature::Clock => Verdict::pass(),
        Nature::Counter if place.signals == 0 => {
            Verdict::fail(format!("none of {} signals came in the loop", delivered.received))
        }
        Nature::Counter if delivered.lost() > 0 => {
            Verdict::fail(format!("{} of {} signals lost", delivered.lost(), delivered.asked))
        }
        Nature::Counter if delivered.extra() > 0 => Verdict::because(
            Outcome::Unexplained,
            format!("{} signals more than overflows", delivered.extra()),
        ),
        Nature::Counter => Verdict::pass(),
        Nature::Switch if delivered.lost() + place.elsewhere() == 0 => Verdict::pass(),
        Nature::Switch if delivered.lost() + place.elsewhere() <= delivered.preemptions => Verdict::because(
            Outcome::Pass,
            format!(
                "{} elsewhere and {} lost, no more than the {} that the scheduler forced",
                place.elsewhere(),
                delivered.lost(),
                delivered.preemptions
            ),
        ),
        Nature::Switch => Verdict::fail(format!(
            "{} lost and {} elsewhere of {}, with {} preemptions",
            delivered.lost(),
            place.elsewhere(),
            delivered.asked,
            delivered.preemptions
        )),
        Nature::Exact | Nature::Probe if delivered.lost() > 0 => {
            Verdict::fail(format!("{} of {} signals lost", delivered.lost(), delivered.asked))
        }
        Nature::Exact | Nature::Probe if delivered.extra() > 0 => Verdict::because(
            Outcome::Unexplained,
            format!("{} signals more than overflows", delivered.extra()),
        ),
        Nature::Exact if blocked => Verdict::pass(),
        Nature::Exact | Nature::Probe if place.outside > 0 => Verdict::because(
            Outcome::Unexplained,
            format!("{} of {} signals outside the loop", place.outside, place.signals),
        ),
        Nature::Exact if place.elsewhere() > 0 => {
            Verdict::fail(format!("{} of {} signals elsewhere", place.elsewhere(), place.signals))
        }
        Nature::Exact | Nature::Probe => Verdict::pass(),
    }
}

fn codes(delivered: &Delivered) -> String {
    let codes = delivered.codes.iter().map(|(code, times)| format!("{times} × {code}"));
    codes.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::precision::event::TAG;
    use crate::precision::measure::{Observation, Stop};
    use crate::precision::workload::{Path, class};

    /// What a breakpoint by sigtrap gives, with the signals that `displaced` picks one instruction late.
    fn observed(signals: u64, displaced: impl Fn(u64) -> bool) -> (Delivered, Place) {
        let workload = class::nop();
        let stops = (0..signals).map(|n| Stop {
            rip: workload.subject.plus(u64::from(displaced(n))),
            left: signals - n,
            signal: libc::SIGTRAP,
            code: crate::event::siginfo::TRAP_PERF,
            data: TAG,
            thread: 7,
            ..Stop::default()
        });
        let observation = Observation {
            asked: signals,
            signals,
            count: signals,
            stops: stops.collect(),
            thread: 7,
            ..Observation::default()
        };
        let (mut delivered, mut place) = (Delivered::default(), Place::default());
        delivered.add(&observation, Delivery::Sigtrap);
        place.add(&observation, &Path::of(&workload));
        (delivered, place)
    }

    fn outcome((delivered, place): &(Delivered, Place)) -> Outcome {
        judge(Nature::Exact, Delivery::Sigtrap, delivered, place).outcome
    }

    fn is_synchronous((delivered, place): &(Delivered, Place)) -> Synchronous {
        synchronous(Nature::Exact, delivered, place)
    }

    #[test]
    fn preemptions_may_be_anywhere_and_nothing_else() {
        let (mut delivered, place) = observed(20_000, |n| n < 3);
        let switch = |delivered: &Delivered| {
            let verdict = judge(Nature::Switch, Delivery::Sigtrap, delivered, &place);
            (verdict.outcome, synchronous(Nature::Switch, delivered, &place))
        };
        assert_eq!(switch(&delivered), (Outcome::Fail, Some(false)));
        delivered.preemptions = 3;
        assert_eq!(switch(&delivered), (Outcome::Pass, None), "not synchronous with three counterexamples");
    }

    #[test]
    fn synchronous_needs_ten_thousand() {
        assert_eq!(is_synchronous(&observed(10_000, |_| false)), Some(true));
        assert_eq!(is_synchronous(&observed(9_999, |_| false)), None);
        let (mut delivered, place) = observed(10_000, |_| false);
        delivered.asked += 1;
        assert_eq!(is_synchronous(&(delivered, place)), None, "one was lost, and may have been anywhere");
    }

    #[test]
    fn one_in_a_thousand_by_one_instruction_is_not_synchronous() {
        let shifted = observed(10_000, |n| n % 1_000 == 999);
        assert_eq!(is_synchronous(&shifted), Some(false));
        assert_eq!((shifted.1.at_expected, shifted.1.skid.of(1)), (9_990, 10));
        assert_eq!(outcome(&shifted), Outcome::Fail);
        assert_eq!(outcome(&observed(10_000, |_| false)), Outcome::Pass);
    }

    #[test]
    fn a_lost_signal_and_one_too_many_are_told_apart() {
        let (mut delivered, place) = observed(100, |_| false);
        delivered.asked = 101;
        assert_eq!(outcome(&(delivered.clone(), place.clone())), Outcome::Fail);
        delivered.asked = 99;
        assert_eq!(outcome(&(delivered, place)), Outcome::Unexplained);
    }

    #[test]
    fn a_signal_of_another_kind_event_or_thread_is_a_failure() {
        let (good, place) = observed(100, |_| false);
        for spoil in [
            (|it| it.alien = 1) as fn(&mut Delivered),
            |it| it.misnamed = 1,
            |it| it.misdirected = 1,
            |it| it.flagged = 1,
            |it| it.received = 0,
        ] {
            let mut delivered = good.clone();
            spoil(&mut delivered);
            assert_eq!(outcome(&(delivered, place.clone())), Outcome::Fail);
        }
    }

    #[test]
    fn a_counter_that_shares_the_pmu_or_is_too_late_says_nothing() {
        let (mut delivered, place) = observed(20_000, |n| n % 7 == 0);
        let judged = |delivered: &Delivered| {
            let verdict = judge(Nature::Counter, Delivery::Sigtrap, delivered, &place);
            (verdict.reason.unwrap_or_default(), synchronous(Nature::Counter, delivered, &place))
        };
        (delivered.enabled, delivered.running) = (1_000_000, 999_500);
        assert_eq!(judged(&delivered), (String::new(), Some(false)));
        delivered.running = 203_000;
        let (reason, synchronous) = judged(&delivered);
        assert!(reason.starts_with("multiplexed: the counter was on the PMU for 20.3 %"), "{reason}");
        assert_eq!(synchronous, None);
        (delivered.running, delivered.too_short) = (1_000_000, Some(10_007));
        assert!(judged(&delivered).0.contains("reaches half the period 10007"));
        (delivered.too_short, delivered.asked) = (None, 19_999);
        assert_eq!(
            judge(Nature::Counter, Delivery::Sigtrap, &delivered, &place).outcome,
            Outcome::Unexplained
        );
    }

    #[test]
    fn a_blocked_signal_without_its_flag_is_a_failure() {
        let (mut delivered, place) = observed(100, |_| true);
        let judge =
            |delivered: &Delivered| judge(Nature::Exact, Delivery::SigtrapBlocked, delivered, &place).outcome;
        assert_eq!(judge(&delivered), Outcome::Fail);
        delivered.flagged = 100;
        assert_eq!(judge(&delivered), Outcome::Pass);
    }

    #[test]
    fn controls_hold_only_when_they_come_out_right() {
        let clock = Control::of(&Event::CpuClock, 0, Delivery::Fasync).unwrap();
        assert!(clock.holds(Some(false)) && !clock.holds(Some(true)) && !clock.holds(None));
        let fault = Control::of(&Event::PageFaults, 0, Delivery::Fasync).unwrap();
        assert!(fault.holds(Some(true)) && !fault.holds(Some(false)) && !fault.holds(None));
        assert_eq!(Control::of(&Event::PageFaults, 1, Delivery::Fasync), None);
    }

    #[test]
    fn steps_are_counted_by_what_retired_between_signals() {
        let (_, mut place) = observed(100, |_| false);
        assert_eq!((place.zero_steps, place.single_steps, place.multi_steps), (0, 99, 0));
        let workload = class::nop();
        let stop = |left| Stop { rip: workload.subject, left, ..Stop::default() };
        let observation =
            Observation { stops: vec![stop(9), stop(9), stop(8), stop(5)], ..Observation::default() };
        place = Place::default();
        place.add(&observation, &Path::of(&workload));
        assert_eq!((place.zero_steps, place.single_steps, place.multi_steps), (1, 1, 1));
    }
}
