//! The entries of all threads, one call after the other.

use std::iter::Peekable;

use crate::record::reader::{Entries, Entry, Trace};

/// Entries grouped by call, in order of call number; within a call as they happened.
///
/// Calls of several threads interleave in time, and no order between threads is claimed. A call lies in one
/// thread and a thread's calls come in rising order, so one entry per thread is all that has to be looked at.
pub struct ByCall<'t> {
    threads: Vec<Peekable<Entries<'t>>>,
    /// Index into `threads` and number of the call being given out.
    current: Option<(usize, u64)>,
}

impl<'t> ByCall<'t> {
    #[must_use]
    pub fn new(trace: &'t Trace) -> Self {
        let threads = trace.threads().iter().map(|&thread| trace.entries(thread).peekable()).collect();
        Self { threads, current: None }
    }

    /// Whether `thread` has entries that were not given out yet.
    pub fn goes_on(&mut self, thread: u32) -> bool {
        let threads = self.threads.iter_mut().filter_map(Peekable::peek);
        threads.map(thread_of).any(|other| other == thread)
    }
}

impl Iterator for ByCall<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        if let Some((thread, call)) = self.current {
            let goes_on = |entry: &Entry| call_of(entry) == call;
            if let Some(entry) = self.threads.get_mut(thread)?.next_if(goes_on) {
                return Some(entry);
            }
        }
        let heads = self.threads.iter_mut().enumerate();
        let (call, thread) = heads.filter_map(|(i, thread)| Some((call_of(thread.peek()?), i))).min()?;
        self.current = Some((thread, call));
        self.threads.get_mut(thread)?.next()
    }
}

/// The call an entry belongs to; 0 before a thread's first one.
#[must_use]
pub const fn call_of(entry: &Entry) -> u64 {
    match entry {
        Entry::Step(step) => step.call,
        Entry::Marker(marker) => marker.call,
    }
}

/// The thread an entry belongs to.
#[must_use]
pub const fn thread_of(entry: &Entry) -> u32 {
    match entry {
        Entry::Step(step) => step.thread,
        Entry::Marker(marker) => marker.thread,
    }
}
