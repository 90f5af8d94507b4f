//! What was seen: step records, the buffer the handler writes them to, the trace file and its reader.
//!
//! The file's layout is described in `docs/trace-format.md`.

pub mod buffer;
pub mod calibration;
mod chunk;
pub(crate) mod chunk_bytes;
pub mod code;
pub mod control;
pub mod control_block;
pub mod counted;
pub mod counters;
pub mod crc;
mod cursor;
mod encode;
pub mod growth;
pub mod header;
pub mod keep;
pub mod layout;
pub mod marker;
pub mod memory_trace;
pub mod modules;
pub mod reader;
mod room;
mod settings_image;
pub mod shared_control;
pub mod step;
pub mod stream;
mod tables;
mod varint;
pub mod verdict;
pub mod window;
pub mod writer;
