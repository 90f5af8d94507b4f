//! Modules, symbols and the end, as the file states them.

use crate::address::{Bias, RuntimeAddr};
use std::ops::Range;

/// A file mapped executable into the traced process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// The number symbols and code blocks refer to.
    pub id: u32,
    pub path: String,
    pub bias: Bias,
    /// The `NT_GNU_BUILD_ID` note, empty where the file has none.
    pub build_id: Vec<u8>,
    /// The executable ranges, in the process.
    pub ranges: Vec<Range<RuntimeAddr>>,
}

/// A symbol that some recorded address lies in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Demangled.
    pub name: String,
    /// As the symbol table has it.
    pub raw: String,
    pub start: RuntimeAddr,
    /// In bytes; never 0: a symbol without a size ends where the next one begins.
    pub size: u64,
    /// The module's id, if it lies in one.
    pub module: Option<u32>,
}

/// How the traced program ended, as its parent saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// As `waitpid` gives it (`man 2 waitpid`).
    pub wait_status: i32,
    /// From the program's start to its end.
    pub nanoseconds: u64,
}
