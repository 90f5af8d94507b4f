//! What is known about the instruction counter of this machine before it is stepped with.

use serde::{Deserialize, Serialize};

/// What calibration found out about the instruction counter, in instructions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calibration {
    /// Of the handler, counted between re-arming and the interrupted code.
    pub tail: u64,
    /// In use: tail and the instructions asked for, or the smallest that the CPU takes.
    pub period: u64,
    pub smallest_period: u64,
    /// Counted too much, in a million instructions.
    pub overcount: u64,
    /// How far behind the overflow stops came, and how many did.
    pub skid: Vec<(u64, u32)>,
    /// How many nops went by from stop to stop with that period, and how often.
    pub progress: Vec<(u64, u32)>,
}
