//! One thread's rows and markers, on their way into its step chunks.

use super::buffer::{NoRoom, TraceBuffer};
use super::chunk::Chunk;
use super::crc::Crc;
use super::cursor::Cursor;
use super::encode;
use super::layout::{ChunkKind, STEP_CHUNKS};
use super::marker::Marker;
use super::step::Step;
use super::stream::StreamState;
use crate::address::RuntimeAddr;
use crate::registers::Registers;

/// Bytes at a chunk's end that only a `lost` marker may use: when the file cannot grow, the trace still says so.
const LAST_WORDS: usize = 48;

/// Writes one thread's events. Each is whole before it becomes part of the trace, so that whoever is killed at
/// whatever instruction leaves a prefix.
///
/// # Signal safety
/// Every method: atomics and plain stores, madvise(2) at the end of a chunk, futex(2) near the end of the room.
#[derive(Debug)]
pub struct ThreadWriter {
    thread: u32,
    sequence: u32,
    chunk: Option<Chunk>,
    length: usize,
    crc: Crc,
    state: StreamState,
}

impl Default for ThreadWriter {
    fn default() -> Self {
        Self::new()
    }
}

impl ThreadWriter {
    /// A writer that has written nothing. Its first chunk is taken with its first event.
    #[must_use]
    pub const fn new() -> Self {
        Self { thread: 0, sequence: 0, chunk: None, length: 0, crc: Crc::NEW, state: StreamState::NEW }
    }

    /// Whose events these are. A block that another thread takes over starts its chunks anew.
    pub fn set_thread(&mut self, thread: u32) {
        if self.thread != thread {
            self.thread = thread;
            self.sequence = 0;
            self.chunk = None;
        }
    }

    /// The number the next row of this call gets, from 1.
    #[inline(always)]
    #[must_use]
    pub const fn next_row(&self) -> u64 {
        self.state.n
    }

    /// An outermost entry in `thread`: marker `enter`, and the rows that follow belong to `call`.
    ///
    /// `function` indexes the control block's resolved functions; `registers.rip` is the entry.
    ///
    /// # Errors
    /// [`NoRoom`] when the trace cannot grow; nothing was written.
    pub fn begin_call(
        &mut self,
        buffer: &TraceBuffer,
        thread: u32,
        call: u64,
        function: u32,
        registers: &Registers,
    ) -> Result<(), NoRoom> {
        self.set_thread(thread);
        self.write(buffer, LAST_WORDS, |out, state| encode::enter(out, state, call, function, registers))?;
        self.state.enter(call, registers);
        Ok(())
    }

    /// One row. Where it does not follow from what was written before, in address or registers, that is written
    /// first.
    ///
    /// # Errors
    /// [`NoRoom`] when the trace cannot grow; the row was not written.
    pub fn step(&mut self, buffer: &TraceBuffer, step: &Step<'_>) -> Result<(), NoRoom> {
        self.write(buffer, LAST_WORDS, |out, state| {
            if step.address != state.address {
                encode::resume(out, state.address, step.address);
            }
            if let Some(registers) = step.registers
                && !state.knows(registers.before)
            {
                encode::sync(out, &state.registers, registers.before);
            }
            encode::step(out, state, step);
        })?;
        if let Some(registers) = step.registers {
            self.state.set_registers(registers.after);
        }
        if let Some(operand) = step.memory.iter().take(super::step::MAX_OPERANDS).next_back() {
            self.state.memory = operand.address;
        }
        self.state.step(step.next, step.depth, step.verdict);
        Ok(())
    }

    /// One marker. `Enter` is better written by [`ThreadWriter::begin_call`]; here it repeats the current call.
    ///
    /// # Errors
    /// [`NoRoom`] when the trace cannot grow; nothing was written. `Lost` has room kept for it in every chunk, so
    /// that the first one after a failed step always fits.
    pub fn marker(&mut self, buffer: &TraceBuffer, marker: &Marker) -> Result<(), NoRoom> {
        let kept = if matches!(marker, Marker::Lost { .. }) { 0 } else { LAST_WORDS };
        self.write(buffer, kept, |out, state| encode::marker(out, state, marker))?;
        self.state.marker(marker);
        Ok(())
    }

    /// Registers that no row accounts for, such as those after a native stretch. [`ThreadWriter::step`] does this
    /// by itself where the row brings registers.
    ///
    /// # Errors
    /// [`NoRoom`] when the trace cannot grow; nothing was written.
    pub fn sync(&mut self, buffer: &TraceBuffer, registers: &Registers) -> Result<(), NoRoom> {
        if self.state.knows(registers) {
            return Ok(());
        }
        self.write(buffer, LAST_WORDS, |out, state| encode::sync(out, &state.registers, registers))?;
        self.state.set_registers(registers);
        Ok(())
    }

    /// Control is at `address`, whatever the last row said. [`ThreadWriter::step`] does this by itself.
    ///
    /// # Errors
    /// [`NoRoom`] when the trace cannot grow; nothing was written.
    pub fn resume(&mut self, buffer: &TraceBuffer, address: RuntimeAddr) -> Result<(), NoRoom> {
        if self.state.address == address {
            return Ok(());
        }
        self.write(buffer, LAST_WORDS, |out, state| encode::resume(out, state.address, address))?;
        self.state.address = address;
        Ok(())
    }

    /// Encodes into the current chunk and commits, or does both in a new chunk.
    #[inline(always)]
    fn write(
        &mut self,
        buffer: &TraceBuffer,
        kept: usize,
        encode: impl Fn(&mut Cursor<'_>, &StreamState),
    ) -> Result<(), NoRoom> {
        if self.write_here(kept, &encode) {
            return Ok(());
        }
        self.next_chunk(buffer)?;
        if self.write_here(kept, &encode) { Ok(()) } else { Err(NoRoom) }
    }

    /// `false` when the chunk is too short for the event, which leaves no trace of the attempt.
    #[inline(always)]
    fn write_here(&mut self, kept: usize, encode: impl Fn(&mut Cursor<'_>, &StreamState)) -> bool {
        let Some(chunk) = self.chunk else { return false };
        let mut out = chunk.cursor(self.length, chunk.capacity().saturating_sub(kept), self.crc);
        encode(&mut out, &self.state);
        let Some((written, crc)) = out.finish() else { return false };
        self.length = self.length.saturating_add(written);
        self.crc = crc;
        chunk.commit(self.length, crc);
        true
    }

    /// Takes a new chunk and writes its keyframe. The old chunk stays current until the new one is there.
    #[cold]
    fn next_chunk(&mut self, buffer: &TraceBuffer) -> Result<(), NoRoom> {
        let [small, middle, large] = STEP_CHUNKS;
        let size = match self.sequence {
            0 => small,
            1 => middle,
            _ => large,
        };
        let chunk = buffer.chunk(ChunkKind::Steps, self.thread, 0, self.sequence, size)?;
        if let Some(finished) = self.chunk {
            buffer.release(&finished);
        }
        self.sequence = self.sequence.wrapping_add(1);
        self.chunk = Some(chunk);
        self.state.memory = RuntimeAddr(0);
        let mut out = chunk.cursor(0, chunk.capacity(), chunk.seed());
        encode::keyframe(&mut out, &self.state);
        let (length, crc) = out.finish().ok_or(NoRoom)?;
        // Not committed by itself: the event that asked for the chunk commits both.
        self.length = length;
        self.crc = crc;
        Ok(())
    }
}
