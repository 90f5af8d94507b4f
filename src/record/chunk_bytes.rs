//! Whole chunks as bytes: what is written in cold code.

use super::counters::FIGURES;
use super::crc::crc32;
use super::layout::{CHUNK_ALIGN, CHUNK_HEADER, CHUNK_MAGIC, ChunkKind, FLAG_LIVE};

/// A `Counters` chunk of zeros.
pub(super) fn counters() -> Vec<u8> {
    chunk(ChunkKind::Counters, FLAG_LIVE, &[0; 8 * FIGURES])
}

/// An `End` chunk.
pub(crate) fn end(wait_status: i32, nanoseconds: u64) -> Vec<u8> {
    let mut payload = wait_status.to_le_bytes().to_vec();
    payload.extend_from_slice(&[0; 4]);
    payload.extend_from_slice(&nanoseconds.to_le_bytes());
    chunk(ChunkKind::End, 0, &payload)
}

/// One chunk that belongs to no thread.
pub(super) fn chunk(kind: ChunkKind, flags: u16, payload: &[u8]) -> Vec<u8> {
    let size = (CHUNK_HEADER + payload.len()).next_multiple_of(CHUNK_ALIGN as usize);
    let mut bytes = Vec::with_capacity(size);
    bytes.extend_from_slice(&CHUNK_MAGIC.to_le_bytes());
    bytes.extend_from_slice(&(kind as u16).to_le_bytes());
    bytes.extend_from_slice(&flags.to_le_bytes());
    bytes.extend_from_slice(&(size as u32).to_le_bytes());
    bytes.extend_from_slice(&[0; 8]); // thread and sequence
    let header_crc = crc32(&[&bytes]).to_le_bytes();
    let covered = if flags & FLAG_LIVE != 0 { &[] } else { payload };
    let payload_crc = crc32(&[&header_crc, covered]);
    bytes.extend_from_slice(&header_crc);
    bytes.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&payload_crc.to_le_bytes());
    bytes.resize(CHUNK_HEADER, 0);
    bytes.extend_from_slice(payload);
    bytes.resize(size, 0);
    bytes
}
