//! Figures that change while the program runs, kept in the trace itself so that a killed program leaves them.

use std::sync::atomic::{AtomicU64, Ordering};

/// The payload of the `Counters` chunk, updated in place. All relaxed: each figure stands for itself.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Counters {
    /// Every entry into a traced function, nested ones too. ATOMICS: handlers add, the reader of the file loads.
    pub entered: AtomicU64,
    /// Entries that were traced. ATOMICS: as `entered`.
    pub traced: AtomicU64,
    /// Stops that the step handler took for its own. ATOMICS: as `entered`.
    pub stops: AtomicU64,
    /// What the step events themselves counted, added when each is closed. ATOMICS: as `entered`.
    pub step_hits: AtomicU64,
    /// What the trigger event counted. ATOMICS: as `entered`.
    pub trigger_hits: AtomicU64,
    /// Stops of the return guard. ATOMICS: as `entered`.
    pub guard_stops: AtomicU64,
    /// Stops that a breakpoint instruction made in the place of a perf event that was not to be had. ATOMICS: as `entered`.
    pub stand_ins: AtomicU64,
}

/// Number of 64-bit figures in [`Counters`].
pub const FIGURES: usize = size_of::<Counters>() / 8;

/// [`Counters`] at one moment, in the same order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CounterValues {
    pub entered: u64,
    pub traced: u64,
    pub stops: u64,
    pub step_hits: u64,
    pub trigger_hits: u64,
    pub guard_stops: u64,
    pub stand_ins: u64,
}

impl CounterValues {
    /// Entries, those included that only the trigger's own count knows of: its signal was blocked.
    #[must_use]
    pub fn all_entries(&self) -> u64 {
        self.entered.max(self.trigger_hits)
    }
}

impl Counters {
    /// The figures now, one by one.
    #[must_use]
    pub fn values(&self) -> CounterValues {
        CounterValues {
            entered: self.entered.load(Ordering::Relaxed),
            traced: self.traced.load(Ordering::Relaxed),
            stops: self.stops.load(Ordering::Relaxed),
            step_hits: self.step_hits.load(Ordering::Relaxed),
            trigger_hits: self.trigger_hits.load(Ordering::Relaxed),
            guard_stops: self.guard_stops.load(Ordering::Relaxed),
            stand_ins: self.stand_ins.load(Ordering::Relaxed),
        }
    }
}
