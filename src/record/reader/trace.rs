//! A whole trace file, indexed.

use std::path::Path;

use super::code_map::{Boundary, SymbolHit};
use super::{Damage, Ending, Entries, Module, ReadError};
use crate::address::RuntimeAddr;
use crate::record::counters::CounterValues;
use crate::record::header::TraceHeader;

/// A trace in memory. Opening checks every chunk's checksum; rows are decoded as they are asked for.
#[derive(Debug)]
pub struct Trace {
    /// What was known at start.
    pub header: TraceHeader,
}

impl Trace {
    /// Reads the trace file at `path` whole. A file that is still being written gives what is there by now.
    ///
    /// # Errors
    /// [`ReadError`] when it cannot be read, is empty, foreign, newer, or its header is damaged. Damage further on
    /// is no error: see [`Trace::damage`].
    pub fn open(_path: impl AsRef<Path>) -> Result<Self, ReadError> {
        todo!()
    }

    /// The same, from bytes at hand.
    ///
    /// # Errors
    /// As [`Trace::open`].
    pub fn from_bytes(_bytes: Vec<u8>) -> Result<Self, ReadError> {
        todo!()
    }

    /// The files mapped into the process, in the order they were reported.
    #[must_use]
    pub fn modules(&self) -> &[Module] {
        todo!()
    }

    /// The figures the traced process kept.
    #[must_use]
    pub fn counters(&self) -> CounterValues {
        todo!()
    }

    /// How the program ended; `None` when the trace was not closed.
    #[must_use]
    pub fn ending(&self) -> Option<Ending> {
        todo!()
    }

    /// What had to be left out.
    #[must_use]
    pub fn damage(&self) -> &[Damage] {
        todo!()
    }

    /// The threads with rows or markers, in the order of their first chunk.
    #[must_use]
    pub fn threads(&self) -> &[u32] {
        todo!()
    }

    /// One thread's rows and markers, in order.
    #[must_use]
    pub fn entries(&self, _thread: u32) -> Entries<'_> {
        todo!()
    }

    /// The symbol that `address` lies in.
    #[must_use]
    pub fn symbol(&self, _address: RuntimeAddr) -> Option<SymbolHit<'_>> {
        todo!()
    }

    /// The module that `address` lies in.
    #[must_use]
    pub fn module(&self, _address: RuntimeAddr) -> Option<&Module> {
        todo!()
    }

    /// The module with this id.
    #[must_use]
    pub fn module_by_id(&self, _id: u32) -> Option<&Module> {
        todo!()
    }

    /// Whether an instruction starts at `address`, by the instruction map of its ELF file.
    #[must_use]
    pub fn boundary(&self, _address: RuntimeAddr) -> Boundary {
        todo!()
    }
}
