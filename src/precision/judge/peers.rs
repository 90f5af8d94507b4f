//! What the cases taken from peers have to give.

use super::Verdict;
use crate::precision::measure::threads::{PASSES, THREADS};

/// Each thread exactly its passes, every one at the breakpoint, and the event's own count the same.
#[must_use]
pub fn sigtrap_threads(by_thread: &[u64], at_expected: u64, counted: u64) -> Verdict {
    let wanted = PASSES * THREADS as u64;
    if by_thread.len() != THREADS || by_thread.iter().any(|signals| *signals != PASSES) {
        return Verdict::fail(format!("signals by thread {by_thread:?}, not {THREADS} times {PASSES}"));
    }
    if at_expected != wanted {
        return Verdict::fail(format!("{at_expected} of {wanted} at the breakpoint"));
    }
    if counted != wanted {
        return Verdict::fail(format!("the event counted {counted}, not {wanted}"));
    }
    Verdict::pass()
}

/// An overflow in each `period`th pass: `passes` are those that the signals came in, from 1.
#[must_use]
pub fn every_nth(passes: &[u64], at_expected: u64, asked: u64, period: u64) -> Verdict {
    if passes.len() as u64 != asked {
        return Verdict::fail(format!("{} signals instead of {asked}", passes.len()));
    }
    if at_expected != asked {
        return Verdict::fail(format!("{at_expected} of {asked} at the expected instruction"));
    }
    let wrong = (1..).zip(passes).find(|(n, pass)| **pass != n * period);
    match wrong {
        None => Verdict::pass(),
        Some((n, pass)) => Verdict::fail(format!("signal {n} came in pass {pass}, not {}", n * period)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::precision::judge::Outcome;

    #[test]
    fn one_signal_in_the_wrong_thread_is_a_failure() {
        let good = [3_000; 5];
        assert_eq!(sigtrap_threads(&good, 15_000, 15_000).outcome, Outcome::Pass);
        assert_eq!(
            sigtrap_threads(&[3_001, 2_999, 3_000, 3_000, 3_000], 15_000, 15_000).outcome,
            Outcome::Fail
        );
        assert_eq!(sigtrap_threads(&good[1..], 12_000, 15_000).outcome, Outcome::Fail);
        assert_eq!(sigtrap_threads(&good, 14_999, 15_000).outcome, Outcome::Fail);
        assert_eq!(sigtrap_threads(&good, 15_000, 15_001).outcome, Outcome::Fail);
    }

    #[test]
    fn a_signal_in_the_next_pass_is_a_failure() {
        assert_eq!(every_nth(&[100, 200], 2, 2, 100).outcome, Outcome::Pass);
        assert_eq!(every_nth(&[100, 201], 2, 2, 100).outcome, Outcome::Fail);
        assert_eq!(every_nth(&[100], 1, 2, 100).outcome, Outcome::Fail);
    }
}
