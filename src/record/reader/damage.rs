//! What a reader had to leave out, and where.

use std::fmt;

/// One place in the file that could not be used. Everything around it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Byte offset of the chunk, or of the first byte of a stretch in which no chunk was found.
    pub offset: u64,
    /// Bytes left out.
    pub length: u64,
    pub cause: DamageCause,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DamageCause {
    /// Space handed out to a writer that was killed before it wrote its first
    /// event.
    Hole,
    /// Bytes that are no chunk.
    NoChunk,
    /// The file ends inside the chunk.
    Cut,
    /// The chunk's checksum does not hold.
    Checksum,
    /// The chunk is intact, but its contents make no sense to this version.
    Contents,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cause = match self.cause {
            DamageCause::Hole => "never written: its writer was killed",
            DamageCause::NoChunk => "no chunk found",
            DamageCause::Cut => "the file ends inside this chunk",
            DamageCause::Checksum => "checksum does not hold",
            DamageCause::Contents => "contents not understood",
        };
        write!(f, "{} bytes at offset {}: {cause}", self.length, self.offset)
    }
}
