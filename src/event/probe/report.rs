//! What a probe's child tells its parent: one shared page, written as things happen, so that a child that is
//! killed leaves what it had seen.

use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering::Relaxed};

/// Signals that are kept in full; more are only counted.
pub(super) const ENTRIES: usize = 64;

/// One signal as its handler saw it.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct Entry {
    pub rip: AtomicU64,
    /// `si_perf_data` of a sigtrap event.
    pub data: AtomicU64,
    pub signal: AtomicI32,
    pub code: AtomicI32,
    pub thread: AtomicU32,
}

/// ATOMICS: the child's threads and handlers write, relaxed; the parent reads after the child has ended, and
/// `wait4` orders the two.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Report {
    /// Signals caught.
    pub hits: AtomicU32,
    /// The errno that `perf_event_open` gave, 0 for none.
    pub refused: AtomicI32,
    /// The errno of a later call, 0 for none.
    pub broken: AtomicI32,
    /// The event's own count, read at the end.
    pub count: AtomicU64,
    /// Thousandths of the time it was enabled in which it did not count.
    pub missed: AtomicU64,
    /// Of a calibration: how often the counter was armed, how many of its overflows gave no signal, and before how many it was
    /// not counting for a while.
    pub armed: AtomicU32,
    pub lost: AtomicU32,
    pub away: AtomicU32,
    pub entries: [Entry; ENTRIES],
}

impl Report {
    /// Keeps one signal.
    ///
    /// # Signal safety
    /// Atomic operations only.
    pub(super) fn record(&self, signal: i32, code: i32, rip: u64, data: u64, thread: u32) {
        let n = self.hits.fetch_add(1, Relaxed) as usize;
        let Some(entry) = self.entries.get(n) else { return };
        entry.rip.store(rip, Relaxed);
        entry.data.store(data, Relaxed);
        entry.signal.store(signal, Relaxed);
        entry.code.store(code, Relaxed);
        entry.thread.store(thread, Relaxed);
    }

    /// Keeps the first errno of a call that should have worked, and hands the result on.
    pub(super) fn note<T>(&self, result: Result<T, crate::raw::Errno>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(errno) => {
                let _ = self.broken.compare_exchange(0, errno.0, Relaxed, Relaxed);
                None
            }
        }
    }

    pub(super) fn kept(&self) -> &[Entry] {
        let hits = self.hits.load(Relaxed) as usize;
        self.entries.get(..hits).unwrap_or(&self.entries)
    }
}
