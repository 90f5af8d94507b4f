//! What the limits found mean.

use std::io::Read;
use std::os::fd::OwnedFd;

use super::counter::Counted;
use super::place::left;
use super::{Histogram, Outcome, Verdict};
use crate::precision::measure::Observation;
use crate::precision::workload::Path;

/// Registers in use are another's right; none at all is what stops tracing.
#[must_use]
pub fn debug_registers(free: u32) -> Verdict {
    match free {
        0 => Verdict::fail("none is free: leave the debugger, and end `perf record -e mem:…`"),
        _ => Verdict::pass(),
    }
}

/// The handler's counted instructions have to be the same number each time, or no period can allow for them.
#[must_use]
pub fn handler_tail(counted: &Counted) -> (Verdict, String) {
    let Counted { overhead, steady, surplus, steps, .. } = counted;
    let mut text =
        format!("{overhead} instructions of the handler are counted, in {steady} of {steps} steps");
    // One too many now and then, and never one too few, is no other handler: the counter over-counts.
    let over_counts = *surplus > 0 && steady + surplus == *steps && steady * 4 >= *steps * 3;
    if over_counts {
        text += &format!("; in {surplus} one more was counted, as over-counting does");
    }
    let verdict = match (*steps, *steady) {
        (0, _) => Verdict::fail("fewer than two overflows came"),
        (steps, steady) if over_counts || steady * 10 >= steps * 9 => Verdict::pass(),
        _ => Verdict::because(Outcome::Unexplained, text.clone()),
    };
    (verdict, text)
}

/// What the sysctls say of throttling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// `perf_event_max_sample_rate`, a second.
    pub rate: Option<u64>,
    pub hz: Option<u32>,
}

/// Overflows by the event's count, and the signals of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overflows {
    pub counted: u64,
    pub signals: u64,
}

/// Overflows beyond `rate / hz` a tick are held back by design (Linux `kernel/events/core.c`,
/// `__perf_event_account_interrupt`): the event stops for the rest of the tick, and counts nothing. `held` is after how
/// many signals in a row that was, if ever. Fewer signals than overflows counted are lost.
#[must_use]
pub fn throttling(overflows: Overflows, held: Option<u64>, limit: Limit) -> (Verdict, String) {
    let Overflows { counted, signals } = overflows;
    let limit = match (limit.rate, limit.hz.filter(|hz| *hz > 0)) {
        (Some(rate), Some(hz)) => format!("{} a tick", rate.div_ceil(u64::from(hz))),
        _ => "unknown".to_owned(),
    };
    let text = match held {
        Some(held) => format!(
            "{signals} signals of {counted} overflows, held back after each {held} in a row; the sysctl's limit is {limit}"
        ),
        None => {
            format!("{signals} signals of {counted} overflows, none held back; the sysctl's limit is {limit}")
        }
    };
    let verdict = match signals {
        0 => Verdict::fail(text.clone()),
        signals if signals < counted => {
            Verdict::fail(format!("{} of {counted} signals lost", counted - signals))
        }
        signals if signals > counted => Verdict::because(
            Outcome::Unexplained,
            format!("{} signals more than overflows", signals - counted),
        ),
        _ => Verdict::pass(),
    };
    (verdict, text)
}

/// After how many signals in a row a free-running event was held back: the usual number between two gaps in which more
/// than twice the usual distance retired. `None` where there were no two such gaps.
#[must_use]
pub fn held_back(observation: &Observation, path: &Path) -> Option<u64> {
    let left: Vec<u64> =
        observation.stops.iter().filter_map(|stop| left(stop.rip, stop.left, path)).collect();
    let gaps: Vec<i64> = left
        .windows(2)
        .map(|pair| match pair {
            [before, after] => *before as i64 - *after as i64,
            _ => 0,
        })
        .collect();
    let usual = gaps.iter().copied().collect::<Histogram>().quantile(0.5)?;
    let long: Vec<usize> =
        (0..).zip(&gaps).filter(|(_, gap)| **gap as f64 > 2.0 * usual).map(|(n, _)| n).collect();
    let runs: Histogram = long
        .windows(2)
        .filter_map(|pair| match pair {
            [before, after] => Some((*after - *before) as i64),
            _ => None,
        })
        .collect();
    runs.mode().map(i64::unsigned_abs)
}

/// Of `tried` pinned counters, `counting` hold one at the same time; no more than `most` are ever tried.
#[must_use]
pub fn counters_at_once(counting: usize, tried: usize, most: usize) -> (Verdict, String) {
    let text = match counting {
        _ if counting == most => format!("at least {most}: all that were tried held one at the same time"),
        _ if counting == tried => format!("all of {tried} pinned counters held one; one more was refused"),
        _ => format!("{counting} of {tried} pinned counters held one; more would be multiplexed"),
    };
    let verdict = if counting > 0 { Verdict::pass() } else { Verdict::fail("no counter could be held") };
    (verdict, text)
}

#[must_use]
pub fn known(name: &str, what: &str) -> Verdict {
    Verdict::because(Outcome::KnownKernelBug, format!("{name}: {what}"))
}

/// Whether a pinned event has its counter: without one, reading it gives nothing.
#[must_use]
pub fn holds_a_counter(event: &OwnedFd) -> bool {
    let mut count = [0u8; 8];
    let read = event.try_clone().and_then(|event| std::fs::File::from(event).read(&mut count));
    read.is_ok_and(|bytes| bytes == count.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::precision::measure::Stop;
    use crate::precision::workload::class;

    #[test]
    fn as_many_counters_as_were_tried_may_not_be_all() {
        let told = |counting, tried| counters_at_once(counting, tried, 32);
        assert!(told(32, 32).1.starts_with("at least 32"));
        assert!(told(6, 32).1.starts_with("6 of 32"));
        assert!(told(6, 6).1.starts_with("all of 6"));
        assert_eq!(told(0, 32).0.outcome, Outcome::Fail);
    }

    #[test]
    fn a_tail_that_varies_is_unexplained() {
        let counted = |steady| Counted { overhead: 14, steady, steps: 100, ..Counted::default() };
        assert_eq!(handler_tail(&counted(99)).0.outcome, Outcome::Pass);
        assert_eq!(handler_tail(&counted(50)).0.outcome, Outcome::Unexplained);
        assert_eq!(handler_tail(&Counted::default()).0.outcome, Outcome::Fail);
    }

    #[test]
    fn over_counting_is_no_other_handler() {
        let counted =
            |steady, surplus| Counted { overhead: 2, steady, surplus, steps: 25, ..Counted::default() };
        let (verdict, text) = handler_tail(&counted(22, 3));
        assert_eq!(verdict.outcome, Outcome::Pass);
        assert!(text.ends_with("; in 3 one more was counted, as over-counting does"), "{text}");
        assert_eq!(handler_tail(&counted(22, 2)).0.outcome, Outcome::Unexplained);
        assert_eq!(handler_tail(&counted(15, 10)).0.outcome, Outcome::Unexplained);
    }

    #[test]
    fn signals_have_to_agree_with_the_count() {
        let limit = Limit { rate: Some(100_000), hz: Some(250) };
        let judged = |counted, signals| throttling(Overflows { counted, signals }, Some(5), limit);
        let (verdict, text) = judged(35, 35);
        assert_eq!(verdict.outcome, Outcome::Pass);
        assert_eq!(
            text,
            "35 signals of 35 overflows, held back after each 5 in a row; the sysctl's limit is 400 a tick"
        );
        assert_eq!(
            (judged(35, 34).0.outcome, judged(34, 35).0.outcome),
            (Outcome::Fail, Outcome::Unexplained)
        );
        let unknown = Limit { rate: None, hz: None };
        assert_eq!(throttling(Overflows { counted: 0, signals: 0 }, None, unknown).0.outcome, Outcome::Fail);
    }

    #[test]
    fn the_signals_in_a_row_are_what_throttling_lets_through() {
        let workload = class::nop();
        let path = Path::of(&workload);
        let observed = |gaps: &[u64]| {
            let mut left = 1_000_000;
            let stops = gaps.iter().map(|gap| {
                left -= gap;
                Stop { rip: workload.subject, left, ..Stop::default() }
            });
            Observation { stops: stops.collect(), ..Observation::default() }
        };
        let throttled: Vec<u64> = (0..35).map(|n| if n % 5 == 0 { 1_000 } else { 80 }).collect();
        assert_eq!(held_back(&observed(&throttled), &path), Some(5));
        assert_eq!(held_back(&observed(&[80; 35]), &path), None);
        assert_eq!(held_back(&observed(&[]), &path), None);
    }
}
