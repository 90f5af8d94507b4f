//! How much is measured, and of what.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::event::{Delivery, Event};

/// How long the user is ready to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Depth {
    /// About ten seconds.
    Quick,
    /// Under a minute.
    Default,
    /// As long as it takes.
    Thorough,
}

/// What to measure.
#[derive(Clone, Debug)]
pub struct Plan {
    pub depth: Depth,
    /// The controls are measured whatever is chosen here.
    pub events: Vec<Event>,
    pub deliveries: Vec<Delivery>,
    /// Levels of `precise_ip`, 0 to 3.
    pub precise: Vec<u8>,
    /// The CPU to stay on; `None` leaves it to the scheduler.
    pub cpu: Option<u32>,
}

/// Told to stop: what is measured by then is reported. Set in a signal handler, read between measurements.
#[derive(Debug, Default)]
pub struct Stop(AtomicBool);

impl Plan {
    /// Signals of one row: "synchronous" needs 10,000.
    #[must_use]
    pub const fn signals(&self) -> u64 {
        match self.depth {
            Depth::Quick => 10_000,
            Depth::Default => 20_000,
            Depth::Thorough => 1_000_000,
        }
    }

    /// Signals of a clock, of which a few disprove synchrony, and which come no faster than the clock ticks.
    #[must_use]
    pub const fn clock_signals(&self) -> u64 {
        match self.depth {
            Depth::Quick => 1_000,
            Depth::Default => 2_000,
            Depth::Thorough => 100_000,
        }
    }

    /// Signals of each class of instruction in a row.
    #[must_use]
    pub const fn class_signals(&self) -> u64 {
        match self.depth {
            Depth::Quick => 200,
            Depth::Default => 1_000,
            Depth::Thorough => 20_000,
        }
    }

    /// How long one child may take: only a hang takes that long, a loaded machine does not.
    #[must_use]
    pub const fn patience(&self) -> Duration {
        Duration::from_secs(60)
    }
}

impl Stop {
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// # Signal safety
    /// One store.
    pub fn request(&self) {
        self.0.store(true, Relaxed);
    }

    #[must_use]
    pub fn requested(&self) -> bool {
        self.0.load(Relaxed)
    }
}
