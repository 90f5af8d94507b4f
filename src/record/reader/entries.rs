//! One thread's rows and markers, decoded as they are asked for.

use super::code_map::Hint;
use super::decode::{Event, Row};
use super::entry::CodeBytes;
use super::input::Input;
use super::trace::StepChunk;
use super::{Entry, MarkerEntry, StepEntry, Trace, decode};
use crate::address::RuntimeAddr;
use crate::record::control::StepMode;
use crate::record::marker::{LostReason, Marker};
use crate::record::step::MAX_INSTRUCTION;
use crate::record::stream::StreamState;
use crate::record::verdict::Verdict;
use crate::registers::Registers;

/// See [`Trace::entries`]. Where a part of the file had to be left out, a marker `Lost { Damaged }` says so, its
/// `detail` the file offset.
#[derive(Debug)]
pub struct Entries<'a> {
    trace: &'a Trace,
    thread: u32,
    chunks: std::slice::Iter<'a, StepChunk>,
    /// The sequence number that the next chunk must have if none is missing.
    expected: u32,
    /// Chunk under way: what is left of it and where it lies.
    input: Input<'a>,
    offset: usize,
    state: StreamState,
    hint: Hint,
}

impl<'a> Entries<'a> {
    pub(super) fn new(trace: &'a Trace, thread: u32) -> Self {
        Self {
            trace,
            thread,
            chunks: trace.steps.iter(),
            expected: 0,
            input: Input::new(&[]),
            offset: 0,
            state: StreamState::NEW,
            hint: Hint::default(),
        }
    }

    /// Goes to the thread's next chunk. Inside, `Some(entry)` when something is missing before or in it.
    fn next_chunk(&mut self) -> Option<Option<Entry>> {
        let chunk = self.chunks.by_ref().find(|chunk| chunk.thread == self.thread)?;
        self.offset = chunk.offset;
        // A thread id that is used again starts at 0 again.
        let missing = chunk.sequence != self.expected && chunk.sequence != 0;
        self.expected = chunk.sequence.wrapping_add(1);
        let mut input = Input::new(self.trace.payload(chunk).unwrap_or_default());
        let Some(state) = decode::first(&mut input) else { return Some(Some(self.damaged())) };
        let entry = missing.then(|| self.damaged());
        self.input = input;
        self.state = state;
        Some(entry)
    }

    /// Says that what follows here is lost, and leaves the rest of the chunk alone.
    fn damaged(&mut self) -> Entry {
        self.input = Input::new(&[]);
        self.marker(Marker::Lost {
            reason: LostReason::Damaged,
            expected: self.state.address,
            found: RuntimeAddr(0),
            detail: self.offset as u64,
        })
    }

    fn marker(&self, marker: Marker) -> Entry {
        let StreamState { call, n, .. } = self.state;
        Entry::Marker(MarkerEntry { call, after: n.saturating_sub(1), thread: self.thread, marker })
    }

    fn row(&mut self, row: Row<'a>) -> Entry {
        let (bytes, differs_from_file) = self.code(&row);
        Entry::Step(StepEntry {
            call: self.state.call,
            n: row.n,
            thread: self.thread,
            depth: row.depth,
            address: row.address,
            bytes,
            differs_from_file,
            verdict: row.verdict,
            next: row.next,
            stopped_with: self.stopped_with(&row),
            registers: row.registers,
            count: row.count,
            memory: row.memory,
            syscall: row.syscall,
        })
    }

    /// The registers at a stop that begins a run of several rows. Behind a run's last row its writer brings the stream
    /// up to date, so that the state is true at the next stop, and stale at the rows that follow in the run.
    fn stopped_with(&self, row: &Row<'_>) -> Option<Box<Registers>> {
        let header = &self.trace.header;
        let at_a_stop = !matches!(row.verdict, Verdict::Reconstructed | Verdict::Lost);
        (row.registers.is_none() && at_a_stop && header.registers && header.step == StepMode::Block)
            .then(|| Box::new(Registers { rip: row.address, ..self.state.registers }))
    }

    /// The row's bytes, and whether they differ from the ELF file's.
    fn code(&mut self, row: &Row<'_>) -> (CodeBytes, bool) {
        let code = &self.trace.code;
        if let Some(inline) = row.bytes {
            // A row brings its bytes along where they have changed, and where another thread was just recording
            // the block: then they are the block's.
            let recorded = code.bytes(row.address, &mut self.hint);
            let changed = !recorded.starts_with(inline)
                && code.block(row.address, &mut self.hint).is_some_and(|(block, _)| block.module.is_some());
            let differs = changed || code.differs(row.address, inline.len() as u64, &mut self.hint);
            return (inline.into(), differs);
        }
        let straight = row.next.since(row.address);
        let longest = MAX_INSTRUCTION as u64;
        let length = if (1..=longest).contains(&straight) { straight } else { self.length(row.address) };
        let differs = code.differs(row.address, length, &mut self.hint);
        (code.bytes(row.address, &mut self.hint), differs)
    }

    /// How long the instruction at `address` is by the instruction map; 1 where the map does not say.
    fn length(&mut self, address: RuntimeAddr) -> u64 {
        let longest = MAX_INSTRUCTION as u64;
        (1..longest)
            .find(|&length| {
                let boundary = self.trace.code.boundary(address.plus(length), &mut self.hint);
                boundary != super::Boundary::Inside
            })
            .unwrap_or(longest)
    }
}

impl Iterator for Entries<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        loop {
            if self.input.is_empty() {
                if let Some(entry) = self.next_chunk()? {
                    return Some(entry);
                }
                continue;
            }
            match decode::next(&mut self.input, &mut self.state) {
                Some(Event::Silent) => {}
                Some(Event::Row(row)) => return Some(self.row(row)),
                Some(Event::Marker(marker)) => return Some(self.marker(marker)),
                None => return Some(self.damaged()),
            }
        }
    }
}
