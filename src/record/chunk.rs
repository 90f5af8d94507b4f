//! A chunk being written: its header, its payload, and the store that makes bytes part of the trace.

#![allow(unsafe_code, reason = "stores into a mapping that other threads and the parent share")]

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::crc::Crc;
use super::cursor::Cursor;
use super::layout::{CHUNK_HEADER, CHUNK_MAGIC, ChunkKind, at};

/// A chunk that one writer owns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk {
    base: *mut u8,
    size: u32,
    header_crc: u32,
}

impl Chunk {
    /// Writes a header at `base`, with nothing committed.
    ///
    /// # Safety
    /// `base` is aligned to 64 bytes and valid for reads and writes of `size` bytes as long as the chunk is used, all of
    /// them zero and nobody else's to write; `size` is at least a chunk header.
    ///
    /// # Signal safety
    /// Plain and atomic stores.
    pub(super) unsafe fn begin(
        base: *mut u8,
        kind: ChunkKind,
        thread: u32,
        flags: u16,
        sequence: u32,
        size: u32,
    ) -> Self {
        let mut chunk = Self { base, size, header_crc: 0 };
        let seed = Crc::NEW.with_u32(CHUNK_MAGIC);
        // SAFETY:
        // - the fields between magic and checksum lie inside the chunk, which is ours alone (the caller's promise).
        let mut out = unsafe { Cursor::new(base.wrapping_add(at::KIND), at::HEADER_CRC - at::KIND, seed) };
        out.u16(kind as u16);
        out.u16(flags);
        out.u32(size);
        out.u32(thread);
        out.u32(sequence);
        if let Some((_, crc)) = out.finish() {
            chunk.header_crc = crc.value();
        }
        chunk.word(at::HEADER_CRC).store(chunk.header_crc, Ordering::Relaxed);
        chunk.commit(0, chunk.seed());
        // The magic comes last: a reader that finds it finds a whole header.
        chunk.word(at::MAGIC).store(CHUNK_MAGIC, Ordering::Release);
        chunk
    }

    /// Where it begins in memory.
    #[inline(always)]
    pub(super) fn address(&self) -> u64 {
        self.base as u64
    }

    /// Where it ends in memory.
    #[inline(always)]
    pub(super) fn end(&self) -> u64 {
        self.address().saturating_add(u64::from(self.size))
    }

    /// Where the payload's byte `offset` lies in memory.
    #[inline(always)]
    pub(super) fn payload(&self, offset: usize) -> *const u8 {
        self.base.wrapping_add(CHUNK_HEADER + offset).cast_const()
    }

    /// Payload bytes that fit.
    #[inline(always)]
    pub(super) fn capacity(&self) -> usize {
        (self.size as usize).saturating_sub(CHUNK_HEADER)
    }

    /// The payload's checksum before its first byte: bound to this header, so that payloads cannot change places.
    #[inline(always)]
    pub(super) fn seed(&self) -> Crc {
        Crc::NEW.with_u32(self.header_crc)
    }

    /// Writes payload bytes from `from` up to `to` (at most the capacity).
    #[inline(always)]
    pub(super) fn cursor(&self, from: usize, to: usize, crc: Crc) -> Cursor<'_> {
        let room = to.min(self.capacity()).saturating_sub(from);
        // SAFETY:
        // - the chunk's bytes belong to its writer alone, and `from + room` is at most its capacity.
        unsafe { Cursor::new(self.base.wrapping_add(CHUNK_HEADER + from), room, crc) }
    }

    /// Makes the first `length` payload bytes part of the trace.
    ///
    /// # Signal safety
    /// One atomic store.
    #[inline(always)]
    pub(super) fn commit(&self, length: usize, crc: Crc) {
        let commit = length as u64 & 0xffff_ffff | u64::from(crc.value()) << 32;
        // SAFETY:
        // - inside the chunk's header, eight-byte aligned since chunks are 64-byte aligned.
        let word = unsafe { AtomicU64::from_ptr(self.base.wrapping_add(at::COMMIT).cast()) };
        // ATOMICS: release, for whoever reads the file while it grows; a kill keeps program order anyway.
        word.store(commit, Ordering::Release);
    }

    fn word(&self, offset: usize) -> &AtomicU32 {
        // SAFETY:
        // - callers pass offsets from `layout::at`, four-byte aligned and inside the header.
        unsafe { AtomicU32::from_ptr(self.base.wrapping_add(offset).cast()) }
    }
}
