//! What the agent writes about code: blocks of executed bytes, and the symbols that name them.

use crate::address::RuntimeAddr;

/// Bytes per code block; blocks lie on multiples of it, so that none crosses a page.
pub const BLOCK: usize = 512;

/// One bit per byte of a block: bit `i % 8` of byte `i / 8`.
pub type BlockBits = [u8; BLOCK / 8];

/// The module number of code that lies in no module.
pub const NO_MODULE: u32 = u32::MAX;

/// One aligned block of executed code. The first one written for an address counts; a step whose bytes differ
/// from it later carries its own.
#[derive(Clone, Copy, Debug)]
pub struct CodeBlock<'a> {
    /// A multiple of [`BLOCK`].
    pub address: RuntimeAddr,
    /// As memory had it.
    pub bytes: &'a [u8; BLOCK],
    /// Bytes for which the instruction map says whether an instruction starts there.
    pub known: &'a BlockBits,
    /// Of those, the ones where it does.
    pub start: &'a BlockBits,
    /// Bytes that differ from the ELF file's. All zero for code that lies in no module.
    pub differs: &'a BlockBits,
    /// The module's number, or [`NO_MODULE`].
    pub module: u32,
}

/// A symbol, by name as bytes: the handler has no time to look at encodings.
#[derive(Clone, Copy, Debug)]
pub struct SymbolRef<'a> {
    pub start: RuntimeAddr,
    /// In bytes.
    pub size: u64,
    /// The module's number, or [`NO_MODULE`].
    pub module: u32,
    /// Demangled; cut at 65,535 bytes.
    pub name: &'a [u8],
    /// As the symbol table has it; cut at 65,535 bytes.
    pub raw: &'a [u8],
}
