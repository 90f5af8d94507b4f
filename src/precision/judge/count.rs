//! What an event counted against what the workload had to make it count.

use super::{Outcome, Verdict};
use crate::precision::event::Nature;

/// Of a run without and of one with signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    pub expected: u64,
    pub counted: u64,
    pub page_faults: u64,
    pub context_switches: u64,
    pub signals: u64,
}

impl Count {
    /// Counted more than expected; negative for less.
    #[must_use]
    pub const fn over(&self) -> i64 {
        self.counted as i64 - self.expected as i64
    }
}

/// Software events and breakpoints count exactly. A hardware counter may over-count by its interrupts and faults
/// (Weaver, Terpstra and Moore, ISPASS 2013), which is a finding; one that is a hundredth off does not work.
#[must_use]
pub fn judge(nature: Nature, count: &Count) -> Verdict {
    let over = count.over();
    let told = format!("counted {} of {} ({over:+})", count.counted, count.expected);
    match nature {
        Nature::Exact if over != 0 => Verdict::fail(told),
        Nature::Counter if over.unsigned_abs() > count.expected / 100 => Verdict::fail(told),
        Nature::Counter if over < 0 => Verdict::because(Outcome::Unexplained, told),
        _ => Verdict::pass(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(nature: Nature, counted: u64) -> Outcome {
        let count = Count { expected: 1_000_000, counted, page_faults: 3, context_switches: 1, signals: 0 };
        judge(nature, &count).outcome
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
