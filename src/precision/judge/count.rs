//! What an event counted against what the workload had to make it count.

use super::{Outcome, Verdict};
use crate::precision::event::Nature;

/// Of a run without and of one with signals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Count {
    pub expected: u64,
    pub counted: u64,
    /// Instructions of the workload: counters over-count by the time it takes, whatever they count.
    pub instructions: u64,
    pub page_faults: u64,
    pub context_switches: u64,
    /// Those of them that the scheduler forced.
    pub preemptions: u64,
    pub signals: u64,
    /// Why the counter is not to be believed.
    pub shared: Option<String>,
}

impl Count {
    /// Counted more than expected; negative for less.
    #[must_use]
    pub const fn over(&self) -> i64 {
        self.counted as i64 - self.expected as i64
    }
}

/// Software events and breakpoints count exactly; context switches also those that the scheduler forced, of which some
/// were before the event was armed or after it. A hardware counter may over-count by its interrupts and faults
/// (Weaver, Terpstra and Moore, ISPASS 2013), which is a finding; one that is a hundredth off does not work.
#[must_use]
pub fn judge(nature: Nature, count: &Count) -> Verdict {
    let over = count.over();
    let told = format!("counted {} of {} ({over:+})", count.counted, count.expected);
    if let Some(shared) = &count.shared {
        return Verdict::fail(format!("{told}; {shared}"));
    }
    match nature {
        Nature::Exact if over != 0 => Verdict::fail(told),
        Nature::Switch if over < 0 || over.unsigned_abs() > count.preemptions => {
            Verdict::fail(format!("{told}, with {} preemptions", count.preemptions))
        }
        Nature::Counter if over.unsigned_abs() > count.instructions / 100 => Verdict::fail(told),
        Nature::Counter if over < 0 => Verdict::because(Outcome::Unexplained, told),
        _ => Verdict::pass(),
    }
}

/// What is counted too much by each signal, where that is the whole difference: the return from an interrupt, on most x86.
#[must_use]
pub fn by_each_signal(count: &Count) -> Option<i64> {
    let (over, signals) = (count.over(), count.signals as i64);
    (signals > 0 && over > 0 && over % signals == 0).then(|| over / signals)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(nature: Nature, counted: u64) -> Outcome {
        judge(nature, &of(counted)).outcome
    }

    fn of(counted: u64) -> Count {
        Count {
            expected: 1_000_000,
            counted,
            instructions: 1_000_000,
            page_faults: 3,
            context_switches: 1,
            preemptions: 0,
            signals: 0,
            shared: None,
        }
    }

    #[test]
    fn over_counting_is_by_time_and_not_by_branches() {
        let branches = Count { expected: 2_500, instructions: 15_004, ..of(2_530) };
        assert_eq!(judge(Nature::Counter, &branches).outcome, Outcome::Pass);
        assert_eq!(judge(Nature::Counter, &Count { counted: 2_651, ..branches }).outcome, Outcome::Fail);
    }

    #[test]
    fn a_residue_of_each_signal_is_told() {
        let count = |counted| by_each_signal(&Count { signals: 30, ..of(counted) });
        assert_eq!((count(1_000_060), count(1_000_061), count(1_000_000)), (Some(2), None, None));
        assert_eq!(by_each_signal(&of(1_000_060)), None);
    }

    #[test]
    fn a_counter_that_was_not_there_all_the_time_fails_and_says_so() {
        let shared = Count { shared: Some("multiplexed: …".to_owned()), ..of(1_000_000) };
        let verdict = judge(Nature::Counter, &shared);
        assert_eq!(verdict.outcome, Outcome::Fail);
        assert!(verdict.reason.unwrap().contains("multiplexed"));
    }

    #[test]
    fn of_switches_those_that_were_forced_may_be_counted() {
        let judged =
            |counted, preemptions| judge(Nature::Switch, &Count { preemptions, ..of(counted) }).outcome;
        assert_eq!((judged(1_000_000, 0), judged(1_000_003, 3)), (Outcome::Pass, Outcome::Pass));
        assert_eq!((judged(1_000_003, 2), judged(999_999, 2)), (Outcome::Fail, Outcome::Fail));
    }

    #[test]
    fn one_too_many_is_wrong_only_where_counts_are_exact() {
        assert_eq!(outcome(Nature::Exact, 1_000_000), Outcome::Pass);
        assert_eq!(outcome(Nature::Exact, 1_000_001), Outcome::Fail);
        assert_eq!(outcome(Nature::Counter, 1_000_012), Outcome::Pass);
        assert_eq!(outcome(Nature::Counter, 999_999), Outcome::Unexplained);
        assert_eq!(outcome(Nature::Counter, 500_000), Outcome::Fail);
    }
}
