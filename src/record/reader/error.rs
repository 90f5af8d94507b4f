//! Why a file cannot be read at all. What is merely damaged is in [`Damage`](super::Damage).

use std::io;
use std::path::PathBuf;

/// A file that gives no trace, with the next thing to do.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("cannot read {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("the file is empty; record a trace with `overstep trace -f FUNCTION -o FILE.ostrace -- PROGRAM`")]
    Empty,
    #[error(
        "not an overstep trace: the first bytes are {found:02x?}, not \"OVERSTEP\"; \
         record one with `overstep trace -f FUNCTION -o FILE.ostrace -- PROGRAM`"
    )]
    Foreign { found: Vec<u8> },
    #[error(
        "trace format {major}.{minor} is newer than the {known_major}.x that this overstep reads up to; \
         update with `cargo install overstep`"
    )]
    Newer { major: u16, minor: u16, known_major: u16 },
    #[error(
        "the trace ends at byte {length}, inside its {needed}-byte header; \
         it was cut off, perhaps by a copy or a full disk: record it again"
    )]
    Truncated { length: u64, needed: u64 },
    #[error(
        "the trace's header at byte 0 is damaged: checksum {found:#010x}, expected {expected:#010x}; \
         record the trace again"
    )]
    HeaderChecksum { found: u32, expected: u32 },
    #[error("the trace's header at byte {offset} cannot be understood: {cause}; record the trace again")]
    Header { offset: u64, cause: String },
}
