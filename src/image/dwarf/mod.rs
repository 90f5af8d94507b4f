//! Debug information (DWARF 2 to 5): which function a source line is in, where a function was inlined, and which
//! line code comes from.
//!
//! Only the command line reads it; the agent is handed addresses. Feature `dwarf`.

mod compression;
mod entry_names;
pub mod error;
pub mod functions;
pub mod info;
pub mod inlined;
pub mod lines;
pub mod places;
pub mod sections;
pub mod separate;
mod source_file;
#[cfg(test)]
mod tests;
