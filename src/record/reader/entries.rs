//! One thread's rows and markers, decoded as they are asked for.

use super::{Entry, Trace};

/// See [`Trace::entries`].
#[derive(Debug)]
pub struct Entries<'a> {
    trace: &'a Trace,
}

impl Iterator for Entries<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        let _ = self.trace;
        todo!()
    }
}
