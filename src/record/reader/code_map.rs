//! Code blocks and symbols, by address.

use super::Symbol;

/// What the ELF file's instruction map says about an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boundary {
    /// An instruction starts here.
    Start,
    /// Inside an instruction.
    Inside,
    /// The map says nothing: no such code recorded, or no symbol bounds there.
    Unknown,
}

/// A symbol and how far into it the address lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SymbolHit<'a> {
    pub symbol: &'a Symbol,
    /// In bytes from its start.
    pub offset: u64,
}
