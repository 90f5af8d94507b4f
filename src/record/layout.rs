//! Where things lie in a trace file. All numbers are little-endian. See `docs/trace-format.md`.

/// The first eight bytes of every trace file.
pub const FILE_MAGIC: [u8; 8] = *b"OVERSTEP";
/// A reader refuses a newer major version.
pub const MAJOR: u16 = 2;
/// The oldest that is still read: every file of it is one of version 2 as well.
pub const OLDEST_MAJOR: u16 = 1;
/// A reader accepts any minor version: it skips the chunk kinds and events it does not know.
pub const MINOR: u16 = 0;
/// The file header's size is a multiple of this.
pub const FILE_PAGE: usize = 4096;

/// Chunks start at multiples of this, so that a reader can find the next one after a hole.
pub const CHUNK_ALIGN: u64 = 64;
/// Size of a chunk's header, in bytes.
pub const CHUNK_HEADER: usize = 64;
/// The first four bytes of every chunk: "OSch".
pub const CHUNK_MAGIC: u32 = u32::from_le_bytes(*b"OSch");

/// Offsets in a chunk header.
pub mod at {
    pub const MAGIC: usize = 0;
    pub const KIND: usize = 4;
    pub const FLAGS: usize = 6;
    pub const SIZE: usize = 8;
    pub const THREAD: usize = 12;
    pub const SEQUENCE: usize = 16;
    /// CRC-32 of the 20 bytes before it.
    pub const HEADER_CRC: usize = 20;
    /// Committed payload length (low half) and its CRC-32 (high half), stored as one, last.
    pub const COMMIT: usize = 24;
}

/// Chunk flag: the payload changes in place and its CRC covers the header alone.
pub const FLAG_LIVE: u16 = 1;

/// What a chunk holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum ChunkKind {
    /// One thread's rows and markers.
    Steps = 1,
    Modules = 2,
    /// One block of executed code.
    Code = 3,
    /// Symbols outside any recorded code block.
    Symbols = 4,
    /// Live figures.
    Counters = 5,
    /// How the program ended; written by the parent.
    End = 6,
}

/// The sizes a thread's step chunks go through, in bytes: a short trace stays small, a long one pays for
/// few keyframes.
pub const STEP_CHUNKS: [u32; 3] = [4 << 10, 16 << 10, 64 << 10];
