//! A trace that lives in memory: for the library's `Tracer`, and for tests.

#![allow(unsafe_code, reason = "the mapping becomes the trace buffer's memory")]

use std::io;
use std::sync::atomic::Ordering;

use memmap2::{MmapOptions, MmapRaw};

use super::buffer::{Backing, TraceBuffer};
use super::chunk_bytes;
use super::control::Progress;
use super::header::TraceHeader;
use super::layout::CHUNK_HEADER;

/// Memory for a trace, taken page by page as it fills.
#[derive(Debug)]
pub struct MemoryTrace {
    map: MmapRaw,
    progress: Box<Progress>,
}

impl MemoryTrace {
    /// Room for `window` bytes of trace, at least one page. Costs address space until it is written to.
    ///
    /// # Errors
    /// What mmap(2) said, ENOMEM where address space or overcommit is limited: ask for less.
    pub fn new(window: usize) -> io::Result<Self> {
        let window = window.max(4096);
        let map = MmapRaw::from(MmapOptions::new().len(window).no_reserve_swap().map_anon()?);
        let counters = chunk_bytes::counters();
        // SAFETY:
        // - the mapping is new, at least a page long, and the chunk is 128 bytes of ours.
        unsafe { std::ptr::copy_nonoverlapping(counters.as_ptr(), map.as_mut_ptr(), counters.len()) };
        let progress = Box::new(Progress::default());
        progress.used.store(counters.len() as u64, Ordering::Relaxed);
        progress.room.store(window as u64, Ordering::Release);
        Ok(Self { map, progress })
    }

    /// The trace, for writers.
    ///
    /// # Safety
    /// No copy of the buffer is used once the `MemoryTrace` is gone.
    #[must_use]
    pub unsafe fn buffer(&self) -> TraceBuffer {
        let base = self.map.as_mut_ptr();
        let counters = base.wrapping_add(CHUNK_HEADER).cast_const().cast();
        // SAFETY:
        // - mapped, zeroed and page-aligned; map and progress live as long as `self` (the caller's promise).
        unsafe {
            TraceBuffer::new(
                base,
                self.map.len() as u64,
                &raw const *self.progress,
                counters,
                Backing::Memory,
            )
        }
    }

    /// Figures for the trace as a whole.
    #[must_use]
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// The trace file that this would be: header and what was written so far. Writers may be at work: the copy is
    /// a prefix for each of them.
    ///
    /// # Errors
    /// As [`TraceHeader::to_bytes`].
    pub fn to_bytes(&self, header: &TraceHeader) -> io::Result<Vec<u8>> {
        let used = self.progress.used.load(Ordering::Acquire).min(self.map.len() as u64) as usize;
        let mut bytes = header.to_bytes()?;
        let start = bytes.len();
        bytes.resize(start + used, 0);
        copy_commits_first(self.map.as_ptr(), &mut bytes[start..]);
        Ok(bytes)
    }
}

/// Copies 64-byte lines from the front: a chunk's header, with its committed length, is read before its payload, so
/// that what the header promises is there.
fn copy_commits_first(from: *const u8, to: &mut [u8]) {
    for (line, out) in to.chunks_mut(64).enumerate() {
        for (place, byte) in out.iter_mut().enumerate() {
            // SAFETY:
            // - inside the mapping: `to` is no longer than it;
            // - volatile, since writers may be at work; a byte torn between two values fails its checksum.
            *byte = unsafe { from.wrapping_add(line * 64 + place).read_volatile() };
        }
        std::sync::atomic::fence(Ordering::Acquire);
    }
}
