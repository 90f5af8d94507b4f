//! How much is measured, and of what.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::event::{Delivery, Event};
use super::judge::statistics::SYNCHRONOUS;

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
    /// Names of the classes of instruction to measure; `None` for all.
    pub classes: Option<Vec<String>>,
    /// Names of the checks beyond the matrix to run; `None` for all.
    pub checks: Option<Vec<String>>,
    /// The CPU to stay on; `None` leaves it to the scheduler.
    pub cpu: Option<u32>,
    /// Signals of a row, instead of what the depth says.
    pub signals: Option<u64>,
    /// A software PMU counts, by single-stepping: thousands of times slower than a real one.
    pub pmu: Pmu,
    /// Ends the measuring when requested.
    pub stop: &'static Stop,
}

/// How long a measuring child may run.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Only a hang takes that long, a loaded machine does not.
    pub most: Duration,
    /// Ends it at once.
    pub stop: &'static Stop,
}

/// What counts instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pmu {
    Hardware,
    Emulated,
}

/// Told to stop: what is measured by then is reported. Set in a signal handler, read between measurements.
#[derive(Debug, Default)]
pub struct Stop(AtomicBool);

impl Plan {
    /// Signals of one row: "synchronous" needs 10,000.
    #[must_use]
    pub fn signals(&self) -> u64 {
        self.signals.unwrap_or(match self.depth {
            Depth::Quick => 10_000,
            Depth::Default => 20_000,
            Depth::Thorough => 1_000_000,
        })
    }

    /// Signals of a row at this precise level: without being asked for more, no more above 0 than a verdict needs.
    #[must_use]
    pub fn signals_at(&self, precise: u8, event: &Event) -> u64 {
        let most = if precise > 0 && self.depth != Depth::Thorough { SYNCHRONOUS } else { u64::MAX };
        self.signals.unwrap_or(self.signals().min(most) / self.fewer(event))
    }

    /// How many times fewer signals of an event are asked for where each instruction of it is a step.
    const fn fewer(&self, event: &Event) -> u64 {
        match self.pmu {
            Pmu::Emulated if event.is_hardware() => 10,
            _ => 1,
        }
    }

    /// Signals of the cycles, which are a clock.
    #[must_use]
    pub const fn cycles_signals(&self) -> u64 {
        self.clock_signals() / self.fewer(&Event::Cycles)
    }

    /// Signals of a control, which has to be decided.
    #[must_use]
    pub fn control_signals(&self) -> u64 {
        self.signals().max(SYNCHRONOUS)
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
    pub fn class_signals(&self, event: &Event) -> u64 {
        let signals = match self.depth {
            Depth::Quick => 200,
            Depth::Default => 1_000,
            Depth::Thorough => 20_000,
        };
        self.signals.map_or(signals / self.fewer(event), |asked| signals.min(asked))
    }

    /// Periods of a counter, the first that its PMU accepts is taken: prime, so that overflows go through every
    /// instruction of any loop, and larger than what of the handler is counted.
    #[must_use]
    pub const fn periods(&self) -> &'static [u64] {
        match self.pmu {
            Pmu::Hardware => &[1_009, 10_007, 100_003],
            Pmu::Emulated => &[61, 251, 1_009, 10_007],
        }
    }

    /// How many times less is counted than on a real PMU.
    #[must_use]
    pub const fn slowness(&self) -> u64 {
        match self.pmu {
            Pmu::Hardware => 1,
            Pmu::Emulated => 100,
        }
    }

    /// How long one child may take.
    #[must_use]
    pub const fn patience(&self) -> Patience {
        let most = Duration::from_secs(match self.pmu {
            Pmu::Hardware => 60,
            Pmu::Emulated => 300,
        });
        Patience { most, stop: self.stop }
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
