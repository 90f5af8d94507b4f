//! What is known about the instruction counter of this machine before it is stepped with.

use serde::{Deserialize, Serialize};

use super::counted::{Counted, Unit};

/// What calibration found out about the counter, in counts of its event where nothing else is said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calibration {
    #[serde(default)]
    pub event: Counted,
    #[serde(default)]
    pub unit: Unit,
    /// Of the handler, counted between re-arming and the interrupted code.
    pub tail: u64,
    /// In use: tail and the counts asked for, or the smallest that the CPU takes.
    pub period: u64,
    /// Smaller ones are refused, or raised to it by the kernel.
    pub smallest_period: u64,
    /// Counted too much, in a million; 0 of an event whose unit the code does not show.
    pub overcount: u64,
    /// The `si_code`s of the overflows that a REFRESH limit of one stopped, in order, and how many of each: POLL_HUP
    /// where the kernel does as it says.
    #[serde(default)]
    pub codes: Vec<(String, u32)>,
    /// How far behind the overflow stops came, and how many did.
    pub skid: Vec<(u64, u32)>,
    /// How many instructions went by from stop to stop with that period, and how often: nops, or branches to the next
    /// instruction where nops count nothing.
    pub progress: Vec<(u64, u32)>,
    #[serde(default)]
    pub troubles: Troubles,
}

/// What went wrong with overflows during calibration; they were measured again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Troubles {
    /// How often the counter was armed for one.
    pub armed: u32,
    /// How many stopped it and gave no signal.
    pub lost: u32,
    /// How many were late, or did not come, because it did not count for a while.
    pub away: u32,
    /// In how many thousandths of the time it did not, at worst.
    pub missed: u64,
}

impl Troubles {
    pub fn add(&mut self, other: &Self) {
        self.armed += other.armed;
        self.lost += other.lost;
        self.away += other.away;
        self.missed = self.missed.max(other.missed);
    }
}
