//! Reads a trace file back. Trusts nothing in it: every length is checked against the bytes that are there.

mod chunks;
mod code_map;
mod damage;
mod decode;
mod entries;
mod entry;
mod error;
mod file_header;
mod input;
mod records;
mod symbol_map;
mod tables;
mod trace;

pub use code_map::Boundary;
pub use damage::{Damage, DamageCause};
pub use entries::Entries;
pub use entry::{CodeBytes, Entry, MarkerEntry, StepEntry};
pub use error::ReadError;
pub use records::{Ending, Module, Symbol};
pub use symbol_map::SymbolHit;
pub use trace::Trace;
