//! The program as its files and its bytes describe it: decoding, what must come next, modules and symbols.
//!
//! Two halves. `decode`, `class`, `successor`, `operands`, `memory` and reading a `boundary` bitmap are safe in
//! a signal handler; the rest reads files and allocates.

mod access_table;
pub mod boundary;
pub mod class;
mod cpp;
pub mod decode;
#[cfg(feature = "dwarf")]
pub mod dwarf;
mod effective;
pub mod elf;
mod elf_dynamic;
pub mod elf_error;
mod elf_imports;
mod elf_notes;
pub mod elf_symbols;
mod elf_versions;
pub mod entry;
pub mod function;
pub mod glob;
pub mod maps;
pub mod memory;
pub mod module;
pub mod names;
pub mod operands;
mod plt;
pub mod process;
pub mod restartable;
pub mod slots;
pub mod static_successor;
pub mod successor;
pub mod symbols;
pub mod unwind;
