//! What a trace says in numbers, and how much those numbers may claim.

use crate::record::marker::{LostReason, Marker};
use crate::record::reader::{Entry, Trace};
use crate::record::verdict::Verdict;

/// Signals without a counterexample before "synchronous" may stand unqualified (`docs/architecture.md`).
pub const SIGNALS_FOR_SYNCHRONOUS: u64 = 10_000;

/// A trace's rows by verdict, and the entries it saw.
///
/// Rows of every thread and call are counted together; `zero + exact + skid + unexplained` is the number of
/// signals that were judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Every entry into a traced function, nested ones and those that were not traced too.
    pub entered: u64,
    /// Entries that were traced.
    pub traced: u64,
    /// Rows: retired instructions in scope.
    pub steps: u64,
    pub exact: u64,
    pub zero: u64,
    /// Rows reached late, whatever the distance.
    pub skid: u64,
    pub reconstructed: u64,
    pub unexplained: u64,
    /// Places where steps are missing, other than a limit that the user asked for.
    pub lost: u64,
    /// Calls that ended at `--max-steps`.
    pub limited: u64,
    /// Stops that a breakpoint instruction made in the place of an event: what is said of signals is not said of them.
    pub stand_ins: u64,
}

impl Summary {
    /// A summary without rows, with the entries that the traced process counted.
    #[must_use]
    pub fn of_counters(entered: u64, traced: u64) -> Self {
        Self { entered, traced, ..Self::default() }
    }

    /// The summary of a whole trace: every entry of every thread is read.
    #[must_use]
    pub fn of(trace: &Trace) -> Self {
        let counters = trace.counters();
        let mut summary = Self::of_counters(counters.all_entries(), counters.traced);
        summary.stand_ins = counters.stand_ins;
        for entry in trace.threads().iter().flat_map(|thread| trace.entries(*thread)) {
            match entry {
                Entry::Step(step) => summary.add_step(step.verdict),
                Entry::Marker(entry) => summary.add_marker(&entry.marker),
            }
        }
        summary
    }

    /// Counts one row.
    pub fn add_step(&mut self, verdict: Verdict) {
        self.steps += 1;
        match verdict {
            Verdict::Exact => self.exact += 1,
            Verdict::Zero => self.zero += 1,
            Verdict::Skid(_) => self.skid += 1,
            Verdict::Reconstructed => self.reconstructed += 1,
            Verdict::Unexplained { .. } => self.unexplained += 1,
            Verdict::Lost => self.lost += 1,
        }
    }

    /// Counts one marker; only `lost` ones weigh.
    pub fn add_marker(&mut self, marker: &Marker) {
        match marker {
            Marker::Lost { reason: LostReason::Limit, .. } => self.limited += 1,
            Marker::Lost { .. } => self.lost += 1,
            _ => {}
        }
    }

    /// Overflow signals that were judged: every row but the ones no signal came for.
    #[must_use]
    pub const fn signals(&self) -> u64 {
        self.expected() + self.zero + self.skid + self.unexplained
    }

    /// Those that came where they had to.
    const fn expected(&self) -> u64 {
        self.exact.saturating_sub(self.stand_ins)
    }

    /// Whether `--strict` holds: no zero-step, skid, unexplained or lost row. Reconstructed rows are no fault.
    #[must_use]
    pub const fn strict_holds(&self) -> bool {
        self.zero == 0 && self.skid == 0 && self.unexplained == 0 && self.lost == 0
    }

    /// Whether there were signals, and each came where it had to.
    #[must_use]
    pub const fn all_expected(&self) -> bool {
        self.expected() > 0 && self.strict_holds()
    }

    /// Upper bound of the miss rate at 95 % confidence after N of N, by the rule of three (3/N; Hanley and
    /// Lippman-Hand, JAMA 1983), at most 1. `None` with a counterexample or without signals.
    #[must_use]
    pub fn miss_rate_95(&self) -> Option<f64> {
        self.all_expected().then(|| (3.0 / self.signals() as f64).min(1.0))
    }

    /// What the signals allow to be said about their delivery, without a full stop.
    #[must_use]
    pub fn synchronous_phrase(&self) -> String {
        let signals = self.signals();
        match self.miss_rate_95() {
            Some(_) if signals >= SIGNALS_FOR_SYNCHRONOUS => format!("synchronous: {signals} of {signals}"),
            Some(_) => format!("no counterexample in {signals}"),
            None if signals == 0 => "no signal was judged".to_owned(),
            None if self.lost > 0 && signals == self.expected() => {
                format!("incomplete: {} of {signals} as expected, steps lost", self.expected())
            }
            None => format!("not synchronous: {} of {signals} as expected", self.expected()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::RuntimeAddr;

    fn exact(rows: u64) -> Summary {
        Summary { entered: 1, traced: 1, steps: rows, exact: rows, ..Summary::default() }
    }

    fn with(verdict: Verdict) -> Summary {
        let mut summary = exact(118);
        summary.add_step(verdict);
        summary
    }

    #[test]
    fn rule_of_three() {
        let rate = exact(118).miss_rate_95().unwrap();
        assert!((rate - 3.0 / 118.0).abs() < 1e-12, "{rate}");
        assert_eq!(exact(2).miss_rate_95(), Some(1.0), "a rate never exceeds 1");
        assert_eq!(exact(0).miss_rate_95(), None, "nothing seen proves nothing");
    }

    #[test]
    fn synchronous_needs_ten_thousand_signals() {
        assert_eq!(exact(9_999).synchronous_phrase(), "no counterexample in 9999");
        assert_eq!(exact(10_000).synchronous_phrase(), "synchronous: 10000 of 10000");
        assert_eq!(exact(0).synchronous_phrase(), "no signal was judged");
        assert_eq!(with(Verdict::Skid(2)).synchronous_phrase(), "not synchronous: 118 of 119 as expected");
        assert_eq!(
            with(Verdict::Lost).synchronous_phrase(),
            "incomplete: 118 of 118 as expected, steps lost"
        );
    }

    #[test]
    fn strict_fails_on_each_fault_and_not_on_reconstruction() {
        assert!(with(Verdict::Exact).strict_holds());
        assert!(with(Verdict::Reconstructed).strict_holds());
        assert_eq!(with(Verdict::Reconstructed).signals(), 118, "a reconstructed row had no signal");
        let expected = RuntimeAddr(0x1139);
        for fault in [Verdict::Zero, Verdict::Skid(1), Verdict::Unexplained { expected }, Verdict::Lost] {
            let summary = with(fault);
            assert!(!summary.strict_holds(), "{fault:?}");
            assert!(!summary.all_expected(), "{fault:?}");
            assert_eq!(summary.miss_rate_95(), None, "{fault:?}");
        }
    }

    #[test]
    fn a_limit_that_was_asked_for_is_no_loss() {
        let lost =
            |reason| Marker::Lost { reason, expected: RuntimeAddr(1), found: RuntimeAddr(2), detail: 0 };
        let mut summary = exact(3);
        summary.add_marker(&lost(LostReason::Limit));
        assert!(summary.strict_holds());
        assert_eq!(summary.limited, 1);
        summary.add_marker(&lost(LostReason::ReturnedUnseen));
        assert!(!summary.strict_holds());
        assert_eq!(summary.lost, 1);
    }
}
