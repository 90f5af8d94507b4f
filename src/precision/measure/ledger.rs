//! What a measuring child tells its parent: written as things happen, so that one that is killed leaves what it saw.

use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering::Relaxed};

use super::observation::Stop;
use crate::event::probe::child::Shared;
use crate::event::siginfo::EventSignal;
use crate::raw::Errno;

/// Signals that one child's run can keep.
pub const CAPACITY: usize = 1 << 14;

#[derive(Debug)]
#[repr(C)]
pub(super) struct Entry {
    rip: AtomicU64,
    left: AtomicU64,
    count: AtomicU64,
    data: AtomicU64,
    sample: AtomicU64,
    signal: AtomicI32,
    code: AtomicI32,
    flags: AtomicU32,
    thread: AtomicU32,
}

/// ATOMICS: the child's threads and handlers write, relaxed; the parent reads after the child has ended, and `wait4`
/// orders the two.
#[derive(Debug)]
#[repr(C)]
pub struct Ledger {
    /// Signals caught.
    pub signals: AtomicU32,
    /// The errno that `perf_event_open` gave, 0 for none.
    pub refused: AtomicI32,
    /// The errno of a later call, 0 for none.
    pub broken: AtomicI32,
    /// The event's own count at the end.
    pub count: AtomicU64,
    /// Nanoseconds that a counter was enabled, and that it was on the PMU.
    pub enabled: AtomicU64,
    pub running: AtomicU64,
    /// The event's descriptor, as `si_fd` has to name it.
    pub descriptor: AtomicI32,
    /// The thread that the event is on.
    pub thread: AtomicU32,
    /// Page faults of the measured stretch, by getrusage.
    pub faults: AtomicU64,
    /// Context switches of the measured stretch, by getrusage.
    pub switches: AtomicU64,
    /// Those of them that the scheduler forced.
    pub preemptions: AtomicU64,
    /// Figures of a check's own.
    pub figures: [AtomicU64; 16],
    entries: [Entry; CAPACITY],
}

// SAFETY-relevant contract of `Shared`: atomics only.
#[allow(unsafe_code, reason = "the trait promises that zero bytes are valid")]
// SAFETY:
// - it consists of atomics, for all of which zero is valid.
unsafe impl Shared for Ledger {}

impl Ledger {
    /// Keeps one signal; `false` where there is no room for it.
    ///
    /// # Signal safety
    /// Atomic operations only.
    pub(super) fn record(
        &self,
        signal: i32,
        info: &EventSignal,
        rip: u64,
        left: u64,
        count: u64,
        thread: u32,
    ) -> bool {
        let n = self.signals.fetch_add(1, Relaxed) as usize;
        let Some(entry) = self.entries.get(n) else { return false };
        entry.rip.store(rip, Relaxed);
        entry.left.store(left, Relaxed);
        entry.count.store(count, Relaxed);
        entry.data.store(info.data, Relaxed);
        entry.signal.store(signal, Relaxed);
        entry.code.store(info.code, Relaxed);
        entry.flags.store(info.flags, Relaxed);
        entry.thread.store(thread, Relaxed);
        true
    }

    /// Writes to every page of the record, so that keeping a signal faults no more; then forgets everything.
    pub(super) fn warm(&self) {
        for entry in &self.entries {
            entry.rip.store(0, Relaxed);
        }
        self.signals.store(0, Relaxed);
    }

    /// Keeps the IP of the sample that belongs to signal `n`.
    pub(super) fn sample(&self, n: usize, ip: u64) {
        if let Some(entry) = self.entries.get(n) {
            entry.sample.store(ip, Relaxed);
        }
    }

    /// Keeps the first errno of a call that should have worked, and hands the result on.
    pub fn note<T>(&self, result: Result<T, Errno>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(errno) => {
                let _ = self.broken.compare_exchange(0, errno.0, Relaxed, Relaxed);
                None
            }
        }
    }

    /// Keeps a figure of a check's own.
    pub fn figure(&self, n: usize, value: u64) {
        if let Some(figure) = self.figures.get(n) {
            figure.store(value, Relaxed);
        }
    }

    /// The signals kept, in the order they came.
    pub(super) fn stops(&self) -> Vec<Stop> {
        let signals = self.signals.load(Relaxed) as usize;
        let kept = self.entries.get(..signals).unwrap_or(&self.entries);
        kept.iter().map(Entry::read).collect()
    }
}

impl Entry {
    fn read(&self) -> Stop {
        let (signal, data) = (self.signal.load(Relaxed), self.data.load(Relaxed));
        Stop {
            rip: crate::address::RuntimeAddr(self.rip.load(Relaxed)),
            left: self.left.load(Relaxed),
            count: self.count.load(Relaxed),
            signal,
            code: self.code.load(Relaxed),
            // Only a SIGTRAP of an event has them; elsewhere they are the stack's.
            flags: if signal == libc::SIGTRAP { self.flags.load(Relaxed) } else { 0 },
            data,
            thread: self.thread.load(Relaxed),
            sample: crate::address::RuntimeAddr(self.sample.load(Relaxed)),
        }
    }
}
