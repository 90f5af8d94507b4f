//! A row as every run has it.

use crate::record::step::Access;

/// Stands for a value that another run would not repeat.
pub const MASKED: &str = "?";

/// What a step did, in words that do not depend on the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StableRow {
    /// Where the instruction lies, outside every module.
    pub address: String,
    /// General registers of which the value before the instruction is masked, a bit each.
    pub unknown: u16,
    /// RFLAGS as a reader of the rows knows them, before and after: flags that are up to chance count as clear.
    pub rflags: (u64, u64),
    /// RFLAGS bits that are up to chance, before and after.
    pub unknown_flags: (u64, u64),
    /// How often it was repeated is up to chance.
    pub unknown_count: bool,
    /// Its text, where that names an address outside every module.
    pub instruction: Option<String>,
    /// Threads are numbered in the order in which they appear.
    pub thread: u64,
    /// Name, value before, value after.
    pub registers: Vec<(&'static str, String, String)>,
    pub flags: Vec<(&'static str, bool)>,
    pub memory: Vec<StableAccess>,
    /// Its arguments; a result is always masked.
    pub syscall: Option<Vec<String>>,
}

/// A memory operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StableAccess {
    pub access: Access,
    pub size: u8,
    pub address: String,
    pub value: String,
}

/// What stands around a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StableMarker {
    pub thread: u64,
    /// With `enter` the arguments that the call made use of, with `leave` rax.
    pub registers: Vec<(&'static str, String)>,
    /// With `leave`, in words.
    pub result: String,
}
