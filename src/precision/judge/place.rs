//! Where signals came, against the instruction that the workload says must overflow.

use super::Histogram;
use crate::address::RuntimeAddr;
use crate::precision::measure::{Observation, Stop};
use crate::precision::workload::Path;

/// The places of the signals of one row or class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    pub signals: u64,
    /// The saved RIP was the expected one.
    pub at_expected: u64,
    /// It was not in the loop at all.
    pub outside: u64,
    /// Instructions past the expected one, of those in the loop: 0 for those at it.
    pub skid: Histogram,
    /// Nothing had retired since the signal before.
    pub zero_steps: u64,
    /// Exactly one iteration had.
    pub single_steps: u64,
    /// More had.
    pub multi_steps: u64,
}

impl Place {
    /// Adds the stops of one run of the loop that `path` is.
    pub fn add(&mut self, observation: &Observation, path: &Path) {
        let mut before: Option<u64> = None;
        for stop in &observation.stops {
            self.signals += 1;
            match path.beyond_subject(stop.rip) {
                Some(skid) => {
                    self.at_expected += u64::from(skid == 0);
                    self.skid.add(skid as i64);
                }
                None => self.outside += 1,
            }
            let here = progress(stop, path);
            if let (Some(before), Some(here)) = (before, here) {
                // The counter counts down; a round starts it anew.
                match before.checked_sub(here) {
                    Some(0) => self.zero_steps += 1,
                    Some(retired) if retired == path.length() => self.single_steps += 1,
                    Some(_) => self.multi_steps += 1,
                    None => {}
                }
            }
            before = here;
        }
    }

    /// Signals that were not where they had to be.
    #[must_use]
    pub const fn elsewhere(&self) -> u64 {
        self.signals - self.at_expected
    }

    pub fn merge(&mut self, other: &Self) {
        self.signals += other.signals;
        self.at_expected += other.at_expected;
        self.outside += other.outside;
        self.skid.merge(&other.skid);
        self.zero_steps += other.zero_steps;
        self.single_steps += other.single_steps;
        self.multi_steps += other.multi_steps;
    }
}

/// Instructions of the loop still to retire at `stop`; `None` outside of it.
fn progress(stop: &Stop, path: &Path) -> Option<u64> {
    left(stop.rip, stop.left, path)
}

/// Instructions left of a loop whose counter stands at `counter` and control at `rip`. The counter is one less
/// already at the branch back, the last instruction.
pub(super) fn left(rip: RuntimeAddr, counter: u64, path: &Path) -> Option<u64> {
    if rip == path.end() {
        return Some(0);
    }
    let place = path.position(rip)?;
    let last = path.length() - 1;
    let iterations = if place == last { counter + 1 } else { counter };
    Some(iterations * path.length() - place)
}
