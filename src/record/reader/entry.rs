//! What the reader hands out: rows and markers with everything the file says about them.

use std::ops::Deref;

use crate::address::RuntimeAddr;
use crate::record::marker::Marker;
use crate::record::step::{MAX_INSTRUCTION, MemoryAccess, RegisterChange, Syscall};
use crate::record::verdict::Verdict;
use crate::registers::Registers;

/// One row or marker, in the order it happened in its thread.
#[derive(Clone, Debug, PartialEq)]
#[allow(
    clippy::large_enum_variant,
    reason = "nearly every entry is a step; a box would be an allocation per row"
)]
pub enum Entry {
    Step(StepEntry),
    Marker(MarkerEntry),
}

/// One retired instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct StepEntry {
    /// The outermost entry it belongs to, from 1 over the process.
    pub call: u64,
    /// Its number in that call, from 1.
    pub n: u64,
    pub thread: u32,
    /// 0 in the traced function.
    pub depth: u32,
    pub address: RuntimeAddr,
    /// Memory from `address` on as it was executed, up to 15 bytes: the instruction and perhaps what follows it.
    /// Shorter where the next code block was not recorded, empty where none was.
    pub bytes: CodeBytes,
    /// The executed bytes are not those of the ELF file.
    pub differs_from_file: bool,
    pub verdict: Verdict,
    pub next: RuntimeAddr,
    /// Absent when not recorded and in a run of several rows; `after.rip` is `next`.
    pub registers: Option<RegisterChange>,
    /// In block stepping, without `registers`: those at the start of a row that a stop was seen at, which begins a
    /// run whose single changes are not known. Boxed, since rows are moved about and few have it.
    pub stopped_with: Option<Box<Registers>>,
    /// Iterations of a `rep` string instruction.
    pub count: Option<u64>,
    pub memory: Vec<MemoryAccess>,
    pub syscall: Option<Syscall>,
}

impl StepEntry {
    /// The registers at its start, where they are known.
    #[must_use]
    pub fn before(&self) -> Option<&Registers> {
        self.registers.as_ref().map(|change| &change.before).or(self.stopped_with.as_deref())
    }
}

/// One marker.
#[derive(Clone, Debug, PartialEq)]
pub struct MarkerEntry {
    /// The call it happened in; 0 before the first one.
    pub call: u64,
    /// The row it came after; 0 before the first one.
    pub after: u64,
    pub thread: u32,
    pub marker: Marker,
}

/// Up to fifteen bytes of code, held in place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CodeBytes {
    length: u8,
    bytes: [u8; MAX_INSTRUCTION],
}

impl CodeBytes {
    /// Appends as much of `more` as still fits.
    pub(super) fn extend(&mut self, more: &[u8]) {
        let have = usize::from(self.length);
        let take = more.len().min(MAX_INSTRUCTION - have);
        self.bytes[have..have + take].copy_from_slice(&more[..take]);
        self.length += take as u8;
    }
}

impl From<&[u8]> for CodeBytes {
    /// The first fifteen bytes.
    fn from(bytes: &[u8]) -> Self {
        let mut code = Self::default();
        code.extend(bytes);
        code
    }
}

impl Deref for CodeBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}
