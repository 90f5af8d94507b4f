//! What is known about the process's code before it runs: modules, symbols, instruction starts, scope.
//!
//! Built once by the session from `image`, then only read. Everything is a sorted slice, so that the handler
//! looks up and never computes.

use crate::address::RuntimeAddr;
use crate::record::modules::ModuleRef;

/// Executable memory `[start, end)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeRange {
    pub start: RuntimeAddr,
    pub end: RuntimeAddr,
}

impl CodeRange {
    pub fn contains(&self, address: RuntimeAddr) -> bool {
        self.start <= address && address < self.end
    }
}

/// One named stretch of code.
#[derive(Clone, Debug)]
pub struct KnownSymbol {
    pub start: RuntimeAddr,
    pub size: u64,
    pub name: Box<[u8]>,
    pub raw: Box<[u8]>,
}

/// The instruction map of one executable range: bit `i` for byte `i` of the range.
#[derive(Clone, Debug, Default)]
pub struct InstructionMap {
    pub known: Box<[u8]>,
    pub start: Box<[u8]>,
}

impl InstructionMap {
    /// The map's 64 bytes for the block at `offset` in the range; zeros (nothing known) beyond its end.
    /// `offset` may be negative where the range starts inside the block.
    pub(super) fn block(bits: &[u8], offset: i64) -> [u8; 64] {
        let mut out = [0; 64];
        for (index, byte) in out.iter_mut().enumerate() {
            let at = offset / 8 + index as i64;
            if let Some(found) = usize::try_from(at).ok().and_then(|at| bits.get(at)) {
                *byte = *found;
            }
        }
        out
    }
}

/// One executable range of a module.
#[derive(Clone, Debug)]
pub struct KnownCode {
    pub range: CodeRange,
    pub module: u32,
    pub map: InstructionMap,
    /// The range's bytes in the ELF file, mapped, and how many there are; `None` for the vdso and JIT code.
    pub file: Option<(RuntimeAddr, u64)>,
}

/// A function that starts a call when it is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedFunction {
    pub entry: RuntimeAddr,
    /// Index of the pattern it matched.
    pub pattern: u32,
}

/// All of it. Slices are sorted by start address.
#[derive(Clone, Debug, Default)]
pub struct KnownImage {
    pub modules: Box<[ModuleRef<'static>]>,
    pub code: Box<[KnownCode]>,
    pub symbols: Box<[KnownSymbol]>,
    /// Stepped: `None` means everything but [`Self::excluded`].
    pub scope: Option<Box<[CodeRange]>>,
    /// Never stepped: the tracer itself, the vdso.
    pub excluded: Box<[CodeRange]>,
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

    pub(super) fn code_at(&self, address: RuntimeAddr) -> Option<&KnownCode> {
        let after = self.code.partition_point(|code| code.range.start <= address);
        self.code.get(after.checked_sub(1)?).filter(|code| code.range.contains(address))
    }

    /// The symbols that overlap `[start, end)`, at most `most` of them.
    pub(super) fn symbols_in(&self, start: RuntimeAddr, end: RuntimeAddr, most: usize) -> &[KnownSymbol] {
        // A symbol that starts before the block may reach into it; the one right before is enough, since the
        // session keeps symbols from overlapping.
        let first = self.symbols.partition_point(|symbol| symbol.start.plus(symbol.size) <= start);
        let last = self.symbols.partition_point(|symbol| symbol.start < end);
        let found = self.symbols.get(first..last).unwrap_or(&[]);
        found.get(..most).unwrap_or(found)
    }
}
