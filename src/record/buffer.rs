//! The trace as the traced process sees it: a fixed window of memory, given out in chunks.
//!
//! The window is mapped once, far beyond the end of the file. The parent lengthens the file under it, and
//! [`Progress::room`] says how much may be touched: a store behind the end would be SIGBUS.

#![allow(unsafe_code, reason = "stores into a mapping that other threads and the parent share")]

use std::sync::atomic::Ordering;

pub use super::room::NoRoom;

use super::chunk::Chunk;
use super::code::{BLOCK, CodeBlock, SymbolRef};
use super::control::Progress;
use super::counters::Counters;
use super::cursor::Cursor;
use super::layout::{CHUNK_ALIGN, CHUNK_HEADER, ChunkKind};
use super::modules::ModuleRef;
use super::{room, tables};
use crate::raw::syscall;

/// A trace being written. Copies are the same trace.
#[derive(Clone, Copy, Debug)]
pub struct TraceBuffer {
    base: *mut u8,
    window: u64,
    progress: *const Progress,
    counters: *const Counters,
    backing: Backing,
}

/// What keeps the bytes when their pages are dropped from this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backing {
    /// A file: finished chunks may leave this process's memory.
    File,
    /// Nothing.
    Memory,
}

// SAFETY:
// - the pointers stay valid for the whole process (promise to `TraceBuffer::new`);
// - all sharing is by atomics: `fetch_add` hands every byte of the window to one writer.
unsafe impl Send for TraceBuffer {}
// SAFETY: as for Send; no method writes to the struct.
unsafe impl Sync for TraceBuffer {}

impl TraceBuffer {
    /// A trace in `window` bytes at `base`, whose `Counters` chunk's payload lies at `counters`.
    ///
    /// # Safety
    /// - `base` is aligned to a page and mapped, readable and writable, for `window` bytes, of which those below
    ///   [`Progress::room`] can be touched, for as long as any copy of the buffer is used;
    /// - bytes from [`Progress::used`] on are zero, and nobody else writes there;
    /// - `progress` and `counters` stay valid as long.
    #[must_use]
    pub const unsafe fn new(
        base: *mut u8,
        window: u64,
        progress: *const Progress,
        counters: *const Counters,
        backing: Backing,
    ) -> Self {
        Self { base, window, progress, counters, backing }
    }

    /// The figures kept in the trace.
    ///
    /// # Signal safety
    /// Pointer arithmetic.
    #[inline(always)]
    #[must_use]
    pub fn counters(&self) -> &Counters {
        // SAFETY: valid as long as the buffer is used (promise to `new`), and all atomics.
        unsafe { &*self.counters }
    }

    #[inline(always)]
    fn progress(&self) -> &Progress {
        // SAFETY: valid as long as the buffer is used (promise to `new`), and all atomics.
        unsafe { &*self.progress }
    }

    /// Writes one chunk whole: `parts` one after the other.
    ///
    /// # Errors
    /// [`NoRoom`] when the file cannot grow.
    ///
    /// # Signal safety
    /// Atomics, plain stores, futex(2) near the end of the room.
    pub fn append(&self, kind: ChunkKind, thread: u32, flags: u16, parts: &[&[u8]]) -> Result<(), NoRoom> {
        let mut length = 0usize;
        for part in parts {
            length = length.saturating_add(part.len());
        }
        self.fill(kind, thread, flags, length, |out| {
            for part in parts {
                out.bytes(part);
            }
        })?;
        Ok(())
    }

    /// Writes a block of code and the symbols that overlap it. Returns where the trace holds the block's bytes:
    /// mapped as long as the window, and never written again.
    ///
    /// # Errors
    /// [`NoRoom`] when the file cannot grow.
    ///
    /// # Signal safety
    /// As [`TraceBuffer::append`].
    pub fn code(
        &self,
        thread: u32,
        block: &CodeBlock<'_>,
        symbols: &[SymbolRef<'_>],
    ) -> Result<*const [u8; BLOCK], NoRoom> {
        let length = tables::CODE_FIXED.saturating_add(tables::symbols_length(symbols));
        self.fill(ChunkKind::Code, thread, 0, length, |out| {
            tables::code(out, block);
            tables::symbols(out, symbols);
        })
        .map(|chunk| chunk.payload(tables::CODE_BYTES).cast())
    }

    /// Writes symbols for addresses outside any recorded block.
    ///
    /// # Errors
    /// [`NoRoom`] when the file cannot grow.
    ///
    /// # Signal safety
    /// As [`TraceBuffer::append`].
    pub fn symbols(&self, thread: u32, symbols: &[SymbolRef<'_>]) -> Result<(), NoRoom> {
        self.fill(ChunkKind::Symbols, thread, 0, tables::symbols_length(symbols), |out| {
            tables::symbols(out, symbols);
        })?;
        Ok(())
    }

    /// Writes the files mapped into the process.
    ///
    /// # Errors
    /// [`NoRoom`] when the file cannot grow.
    ///
    /// # Signal safety
    /// As [`TraceBuffer::append`].
    pub fn modules(&self, thread: u32, modules: &[ModuleRef<'_>]) -> Result<(), NoRoom> {
        self.fill(ChunkKind::Modules, thread, 0, tables::modules_length(modules), |out| {
            tables::modules(out, modules);
        })?;
        Ok(())
    }

    /// One chunk of `length` payload bytes, committed when `write` has written them all.
    fn fill(
        &self,
        kind: ChunkKind,
        thread: u32,
        flags: u16,
        length: usize,
        write: impl FnOnce(&mut Cursor<'_>),
    ) -> Result<Chunk, NoRoom> {
        let size = (length as u64)
            .saturating_add(CHUNK_HEADER as u64)
            .checked_next_multiple_of(CHUNK_ALIGN)
            .and_then(|size| u32::try_from(size).ok())
            .ok_or(NoRoom)?;
        let chunk = self.chunk(kind, thread, flags, 0, size)?;
        let mut out = chunk.cursor(0, chunk.capacity(), chunk.seed());
        write(&mut out);
        let (length, crc) = out.finish().ok_or(NoRoom)?;
        chunk.commit(length, crc);
        Ok(chunk)
    }

    /// Takes `size` bytes, a multiple of [`CHUNK_ALIGN`], and writes a header there.
    pub(super) fn chunk(
        &self,
        kind: ChunkKind,
        thread: u32,
        flags: u16,
        sequence: u32,
        size: u32,
    ) -> Result<Chunk, NoRoom> {
        let start = self.reserve(u64::from(size))?;
        // SAFETY:
        // - `reserve` gave these bytes to this call alone; they are 64-byte aligned, zero, and inside window and room.
        let chunk = unsafe {
            Chunk::begin(self.base.wrapping_add(start as usize), kind, thread, flags, sequence, size)
        };
        Ok(chunk)
    }

    /// Takes the next `size` bytes of the trace: their offset.
    fn reserve(&self, size: u64) -> Result<u64, NoRoom> {
        let progress = self.progress();
        if progress.no_room.load(Ordering::Relaxed) != 0 {
            return Err(NoRoom);
        }
        // ATOMICS: SeqCst against `Growth::finish`, see `room::wait_for`.
        let start = progress.used.fetch_add(size, Ordering::SeqCst);
        let end = start.saturating_add(size);
        if end > self.window {
            room::give_up(progress, libc::EFBIG);
            return Err(NoRoom);
        }
        room::wait_for(progress, end)?;
        Ok(start)
    }

    /// Lets a finished chunk's pages leave this process: the file keeps them, and memory stays flat however long
    /// the trace.
    ///
    /// # Signal safety
    /// madvise(2).
    pub(super) fn release(&self, chunk: &Chunk) {
        if self.backing != Backing::File {
            return;
        }
        // Neighbours on the first and last page only fault them in again.
        let start = chunk.address() & !4095;
        let end = chunk.end().next_multiple_of(4096);
        // SAFETY:
        // - the range is inside the window, which is a shared mapping of a file: MADV_DONTNEED drops the
        //   translation, not the data (`man 2 madvise`).
        let _advice =
            unsafe { syscall(libc::SYS_madvise, [start, end - start, libc::MADV_DONTNEED as u64, 0, 0, 0]) };
    }
}
