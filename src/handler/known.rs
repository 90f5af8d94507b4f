//! What is known about the process's code before it runs: modules, symbols, instruction starts, scope.
//!
//! Built once by the session from `image`, then only read. Everything is a sorted slice, so that the handler
//! looks up and never computes.

use std::ops::Range;
use std::sync::Arc;

use crate::address::{Bias, RuntimeAddr};
use crate::image::boundary::InstructionMap;
use crate::image::module::Modules;
use crate::image::restartable::RestartableSection;

/// Executable memory `[start, end)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeRange {
    pub start: RuntimeAddr,
    pub end: RuntimeAddr,
}

impl CodeRange {
    #[must_use]
    pub fn contains(&self, address: RuntimeAddr) -> bool {
        self.start <= address && address < self.end
    }
}

/// One named stretch of code.
#[derive(Clone, Debug)]
pub struct KnownSymbol {
    pub start: RuntimeAddr,
    /// In bytes.
    pub size: u64,
    /// The highest end among the symbols up to this one: how far back a lookup has to go.
    pub reach: RuntimeAddr,
    pub name: Box<[u8]>,
    pub raw: Box<[u8]>,
}

/// One executable range of a module.
#[derive(Clone, Debug)]
pub struct KnownCode {
    pub range: CodeRange,
    pub module: u32,
    pub bias: Bias,
    /// Which bytes start an instruction by the ELF file; `None` where rows are not expected.
    pub map: Option<Arc<InstructionMap>>,
    /// The range's bytes in the ELF file, mapped, and how many there are; `None` for the vdso and JIT code.
    pub file: Option<(RuntimeAddr, u64)>,
}

/// A module as the trace file wants it.
#[derive(Clone, Debug)]
pub struct KnownModule {
    pub path: Box<[u8]>,
    pub bias: Bias,
    pub build_id: Box<[u8]>,
    pub ranges: Box<[Range<RuntimeAddr>]>,
}

/// A function that starts a call when it is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedFunction {
    pub entry: RuntimeAddr,
    /// Index of the pattern it matched.
    pub pattern: u32,
    /// The part of its code that the entry is in.
    pub code: CodeRange,
    /// A branch in there leads back to the entry: control comes there without a call.
    pub loops: bool,
}

/// All of it. Code and symbols are sorted by start address.
#[derive(Debug, Default)]
pub struct KnownImage {
    /// A module's number is its place here.
    pub modules: Box<[KnownModule]>,
    pub code: Box<[KnownCode]>,
    pub symbols: Box<[KnownSymbol]>,
    /// Stepped: `None` means everything but [`Self::excluded`].
    pub scope: Option<Box<[CodeRange]>>,
    /// Never stepped: the tracer itself, the vdso.
    pub excluded: Box<[CodeRange]>,
    /// Functions that come back elsewhere than behind their call, and their PLT slots, sorted.
    pub jumpers: Box<[RuntimeAddr]>,
    /// Run natively, sorted by start.
    pub restartable: Box<[RestartableSection]>,
    /// Keeps the files mapped that [`KnownCode::file`] points into.
    pub files: Option<Modules>,
}

impl KnownImage {
    /// Whether an instruction at `address` gets a row.
    ///
    /// # Signal safety
    /// Reads immutable slices.
    pub(super) fn in_scope(&self, address: RuntimeAddr) -> bool {
        let inside = |ranges: &[CodeRange]| ranges.iter().any(|range| range.contains(address));
        !inside(&self.excluded) && self.scope.as_deref().is_none_or(inside)
    }

    /// Whether what starts at `address` may come back elsewhere than behind its call.
    pub(super) fn is_jumper(&self, address: RuntimeAddr) -> bool {
        self.jumpers.binary_search(&address).is_ok()
    }

    /// The restartable sequence that `address` lies in.
    pub(super) fn section_at(&self, address: RuntimeAddr) -> Option<&RestartableSection> {
        let after = self.restartable.partition_point(|section| section.start <= address);
        self.restartable.get(after.checked_sub(1)?).filter(|section| section.contains(address))
    }

    pub(super) fn code_at(&self, address: RuntimeAddr) -> Option<&KnownCode> {
        let after = self.code.partition_point(|code| code.range.start <= address);
        self.code.get(after.checked_sub(1)?).filter(|code| code.range.contains(address))
    }

    /// The symbols that overlap `[start, end)`, at most `most` of them.
    pub(super) fn symbols_in(&self, start: RuntimeAddr, end: RuntimeAddr, most: usize) -> &[KnownSymbol] {
        let first = self.symbols.partition_point(|symbol| symbol.reach <= start);
        let last = self.symbols.partition_point(|symbol| symbol.start < end);
        let found = self.symbols.get(first..last).unwrap_or(&[]);
        found.get(..most).unwrap_or(found)
    }
}
