//! A whole trace file, indexed.

use std::ops::Range;
use std::path::Path;

use super::chunks::{Chunk, scan};
use super::code_map::{Boundary, CodeMap, Hint};
use super::symbol_map::{SymbolHit, SymbolMap};
use super::{Damage, DamageCause, Ending, Entries, Module, ReadError, Symbol, file_header, tables};
use crate::address::RuntimeAddr;
use crate::record::counters::CounterValues;
use crate::record::header::TraceHeader;
use crate::record::layout::ChunkKind;

/// A trace in memory. Opening checks every chunk's checksum; rows are decoded as they are asked for.
#[derive(Debug)]
pub struct Trace {
    /// What was known at start.
    pub header: TraceHeader,
    bytes: Vec<u8>,
    pub(super) steps: Vec<StepChunk>,
    threads: Vec<u32>,
    modules: Vec<Module>,
    symbols: SymbolMap,
    pub(super) code: CodeMap,
    counters: CounterValues,
    ending: Option<Ending>,
    damage: Vec<Damage>,
    origin: Origin,
}

/// Where a trace was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// A file, which `overstep trace` closes with an end.
    File,
    /// Bytes at hand: of the library's `Tracer` they have no end, since the process runs on.
    Memory,
}

/// Where a step chunk lies.
#[derive(Clone, Debug)]
pub(super) struct StepChunk {
    pub offset: usize,
    pub thread: u32,
    pub sequence: u32,
    /// `None` when its contents cannot be trusted.
    pub payload: Option<Range<usize>>,
}

impl Trace {
    /// Reads the trace file at `path` whole. A file that is still being written gives what is there by now.
    ///
    /// # Errors
    /// [`ReadError`] when it cannot be read, is empty, foreign, newer, or its header is damaged. Damage further on
    /// is no error: see [`Trace::damage`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        let path = path.as_ref();
        // Not mapped: a file that someone cuts while it is mapped is SIGBUS.
        let bytes = std::fs::read(path).map_err(|source| ReadError::Io { path: path.to_owned(), source })?;
        Ok(Self { origin: Origin::File, ..Self::from_bytes(bytes)? })
    }

    /// The same, from bytes at hand.
    ///
    /// # Errors
    /// As [`Trace::open`].
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, ReadError> {
        let (header, start) = file_header::parse(&bytes)?;
        let (chunks, damage) = scan(&bytes, start);
        let mut index = Index { damage, ..Index::default() };
        for chunk in &chunks {
            index.add(chunk);
        }
        Ok(Self {
            header,
            steps: index.steps,
            threads: index.threads,
            modules: index.modules,
            symbols: SymbolMap::new(index.symbols),
            code: CodeMap::new(index.blocks),
            counters: index.counters,
            ending: index.ending,
            damage: index.damage,
            origin: Origin::Memory,
            bytes,
        })
    }

    /// The files mapped into the process, in the order they were reported.
    #[must_use]
    pub fn modules(&self) -> &[Module] {
        &self.modules
    }

    /// Calls the module with this id by another path, that of the same file elsewhere.
    pub fn rename_module(&mut self, id: u32, path: String) {
        for module in self.modules.iter_mut().filter(|module| module.id == id) {
            module.path.clone_from(&path);
        }
    }

    /// The figures the traced process kept.
    #[must_use]
    pub fn counters(&self) -> CounterValues {
        self.counters
    }

    /// How the program ended; `None` when the trace was not closed.
    #[must_use]
    pub fn ending(&self) -> Option<Ending> {
        self.ending
    }

    /// Whether it is a file without its end: cut, or left by an overstep that was killed or is still running. Rows and
    /// code may be missing, though nothing that is there is damaged.
    #[must_use]
    pub fn is_unclosed(&self) -> bool {
        self.origin == Origin::File && self.ending.is_none()
    }

    /// What had to be left out. What turns out unreadable only when it is decoded is no part of this: it shows as a
    /// `lost` marker among the entries, as everything here does that belongs to a thread.
    #[must_use]
    pub fn damage(&self) -> &[Damage] {
        &self.damage
    }

    /// The threads with rows or markers, in the order of their first chunk.
    #[must_use]
    pub fn threads(&self) -> &[u32] {
        &self.threads
    }

    /// One thread's rows and markers, in order.
    #[must_use]
    pub fn entries(&self, thread: u32) -> Entries<'_> {
        Entries::new(self, thread)
    }

    /// The symbol that `address` lies in: the innermost, and of aliases the first recorded.
    #[must_use]
    pub fn symbol(&self, address: RuntimeAddr) -> Option<SymbolHit<'_>> {
        self.symbols.find(address)
    }

    /// Adds symbols that the traced process did not know, such as those of separate debug files; recorded ones go first.
    pub fn add_symbols(&mut self, more: Vec<Symbol>) {
        self.symbols = std::mem::take(&mut self.symbols).with(more);
    }

    /// The module that `address` lies in; the last reported where two had the same addresses.
    #[must_use]
    pub fn module(&self, address: RuntimeAddr) -> Option<&Module> {
        self.modules.iter().rev().find(|module| module.ranges.iter().any(|range| range.contains(&address)))
    }

    /// The module with this id.
    #[must_use]
    pub fn module_by_id(&self, id: u32) -> Option<&Module> {
        self.modules.iter().find(|module| module.id == id)
    }

    /// Where the recorded code blocks begin, each [`BLOCK`](crate::record::code::BLOCK) bytes long, in rising order.
    pub fn code_blocks(&self) -> impl Iterator<Item = RuntimeAddr> {
        self.code.addresses()
    }

    /// Whether an instruction starts at `address`, by the instruction map of its ELF file.
    #[must_use]
    pub fn boundary(&self, address: RuntimeAddr) -> Boundary {
        self.code.boundary(address, &mut Hint::default())
    }

    /// Whether any of the `length` bytes at `address` (15 at most) was recorded as different from the ELF file's.
    #[must_use]
    pub fn differs_from_file(&self, address: RuntimeAddr, length: u64) -> bool {
        self.code.differs(address, length, &mut Hint::default())
    }

    /// A step chunk's contents.
    pub(super) fn payload(&self, chunk: &StepChunk) -> Option<&[u8]> {
        self.bytes.get(chunk.payload.clone()?)
    }
}

#[derive(Default)]
struct Index {
    steps: Vec<StepChunk>,
    threads: Vec<u32>,
    modules: Vec<Module>,
    symbols: Vec<Symbol>,
    blocks: Vec<super::code_map::Block>,
    counters: CounterValues,
    ending: Option<Ending>,
    damage: Vec<Damage>,
}

impl Index {
    fn add(&mut self, chunk: &Chunk<'_>) {
        if chunk.kind == ChunkKind::Steps as u16 {
            self.add_steps(chunk);
            return;
        }
        let Some(payload) = chunk.payload.filter(|payload| !payload.is_empty()) else { return };
        if self.add_table(chunk.kind, payload).is_none() {
            self.damage.push(Damage {
                offset: chunk.offset as u64,
                length: payload.len() as u64,
                cause: DamageCause::Contents,
            });
        }
    }

    fn add_steps(&mut self, chunk: &Chunk<'_>) {
        if chunk.payload.is_some_and(<[u8]>::is_empty) {
            return; // taken, but nothing was committed yet
        }
        if !self.threads.contains(&chunk.thread) {
            self.threads.push(chunk.thread);
        }
        let start = chunk.offset + crate::record::layout::CHUNK_HEADER;
        self.steps.push(StepChunk {
            offset: chunk.offset,
            thread: chunk.thread,
            sequence: chunk.sequence,
            payload: chunk.payload.map(|payload| start..start + payload.len()),
        });
    }

    /// `None` when the payload makes no sense. Kinds that a newer minor version added are skipped.
    fn add_table(&mut self, kind: u16, payload: &[u8]) -> Option<()> {
        if kind == ChunkKind::Modules as u16 {
            self.modules.extend(tables::modules(payload)?);
        } else if kind == ChunkKind::Code as u16 {
            let (block, symbols) = tables::code(payload)?;
            self.blocks.push(block);
            self.symbols.extend(symbols);
        } else if kind == ChunkKind::Symbols as u16 {
            self.symbols.extend(tables::symbols(payload)?);
        } else if kind == ChunkKind::Counters as u16 {
            self.counters = tables::counters(payload)?;
        } else if kind == ChunkKind::End as u16 {
            self.ending = Some(tables::end(payload)?);
        }
        Some(())
    }
}
