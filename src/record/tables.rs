//! Payloads that are written once: code blocks, symbols, modules. `reader::tables` is the other half.
//!
//! # Signal safety
//! Everything here is arithmetic and [`Cursor`] stores.

use super::code::{BLOCK, CodeBlock, SymbolRef};
use super::cursor::Cursor;
use super::modules::ModuleRef;

/// Bytes of a code payload before its symbols: address 8, module 4, zeros 4, bytes, known, start,
/// differs.
pub(super) const CODE_FIXED: usize = CODE_BYTES + BLOCK + 3 * (BLOCK / 8);
/// Where the executed bytes begin in a code payload.
pub(super) const CODE_BYTES: usize = 16;
/// Bytes of a symbol before its names: start 8, size 8, module 4, two lengths of 2.
pub(super) const SYMBOL_FIXED: usize = 24;
/// Bytes of a module before its path: id 4, bias 8, three lengths of 2.
pub(super) const MODULE_FIXED: usize = 18;

pub(super) fn code(out: &mut Cursor<'_>, block: &CodeBlock<'_>) {
    out.u64(block.address.0);
    out.u32(block.module);
    out.u32(0);
    out.bytes(block.bytes);
    out.bytes(block.known);
    out.bytes(block.start);
    out.bytes(block.differs);
}

pub(super) fn symbols_length(symbols: &[SymbolRef<'_>]) -> usize {
    let mut length = 0usize;
    for symbol in symbols {
        length = length.saturating_add(SYMBOL_FIXED + cut(symbol.name).len() + cut(symbol.raw).len());
    }
    length
}

/// Symbols fill the payload to its end; no count is needed.
pub(super) fn symbols(out: &mut Cursor<'_>, symbols: &[SymbolRef<'_>]) {
    for symbol in symbols {
        out.u64(symbol.start.0);
        out.u64(symbol.size);
        out.u32(symbol.module);
        out.u16(cut(symbol.name).len() as u16);
        out.u16(cut(symbol.raw).len() as u16);
        out.bytes(cut(symbol.name));
        out.bytes(cut(symbol.raw));
    }
}

pub(super) fn modules_length(modules: &[ModuleRef<'_>]) -> usize {
    let mut length = 0usize;
    for module in modules {
        let ranges = module.ranges.len().min(usize::from(u16::MAX));
        let names = cut(module.path).len() + cut(module.build_id).len();
        length = length.saturating_add(MODULE_FIXED + names + 16 * ranges);
    }
    length
}

/// Modules fill the payload to its end.
pub(super) fn modules(out: &mut Cursor<'_>, modules: &[ModuleRef<'_>]) {
    for module in modules {
        let ranges = module.ranges.len().min(usize::from(u16::MAX));
        out.u32(module.id);
        out.u64(module.bias.0);
        out.u16(cut(module.path).len() as u16);
        out.u16(cut(module.build_id).len() as u16);
        out.u16(ranges as u16);
        out.bytes(cut(module.path));
        out.bytes(cut(module.build_id));
        for range in module.ranges.iter().take(ranges) {
            out.u64(range.start.0);
            out.u64(range.end.0);
        }
    }
}

/// As much as a 16-bit length can state.
#[inline(always)]
fn cut(text: &[u8]) -> &[u8] {
    text.get(..usize::from(u16::MAX)).unwrap_or(text)
}
