//! The instruction at an address: its bytes from memory, decoded, and its block of code in the trace.

#![allow(unsafe_code, reason = "code is read in place: the CPU is about to execute it")]

use iced_x86::Instruction;

use super::blocks::{Block, Found};
use super::known::{KnownImage, KnownSymbol};
use super::proc_file;
use super::process::Process;
use crate::address::{ElfAddr, RuntimeAddr};
use crate::image::boundary::{Boundary, InstructionMap};
use crate::image::class::Class;
use crate::image::decode::{MAX_LENGTH, decode};
use crate::image::memory::Memory;
use crate::raw;
use crate::record::buffer::NoRoom;
use crate::record::code::{BLOCK, CodeBlock, NO_MODULE, SymbolRef};

const PAGE: u64 = 4096;
/// Symbols written with one block; a block of one-instruction functions has no more names worth having.
const SYMBOLS_PER_BLOCK: usize = 32;

const NO_SYMBOL: SymbolRef<'static> =
    SymbolRef { start: RuntimeAddr(0), size: 0, module: NO_MODULE, name: &[], raw: &[] };

/// An instruction as it stood in memory when the tracer looked.
#[derive(Clone, Copy)]
pub(super) struct Fetched {
    pub(super) instruction: Instruction,
    pub(super) class: Class,
    bytes: [u8; MAX_LENGTH],
    /// Whether the trace's code block says something else.
    differs: bool,
}

impl Fetched {
    pub(super) fn address(&self) -> RuntimeAddr {
        RuntimeAddr(self.instruction.ip())
    }

    pub(super) fn fall_through(&self) -> RuntimeAddr {
        RuntimeAddr(self.instruction.next_ip())
    }

    /// Whether prefix 67 makes a string instruction count in ecx.
    pub(super) fn narrow_addresses(&self) -> bool {
        use iced_x86::OpKind::{MemoryESEDI, MemorySegEDI, MemorySegESI};
        let narrow = |kind| matches!(kind, MemoryESEDI | MemorySegEDI | MemorySegESI);
        narrow(self.instruction.op0_kind()) || narrow(self.instruction.op1_kind())
    }

    /// `popf` and `iret`, which take TF from the stack.
    pub(super) fn loads_trap_flag(&self) -> bool {
        use iced_x86::Mnemonic::{Iret, Iretd, Iretq};
        self.class == Class::Popf || matches!(self.instruction.mnemonic(), Iret | Iretd | Iretq)
    }

    /// The bytes to store with the step, where the code block does not have them.
    pub(super) fn own_bytes(&self) -> Option<&[u8]> {
        if self.differs { self.bytes.get(..self.instruction.len()) } else { None }
    }
}

/// Why there is no instruction to step.
pub(super) enum NoInstruction {
    Undecodable,
    NoRoom,
}

/// Reads and decodes the instruction at `at`, and sees to it that the trace has its bytes.
///
/// # Signal safety
/// Memory is read in place only where a block of it has been read by process_vm_readv before, which cannot fault.
/// Decoding looks up iced-x86's tables, touched before arming.
pub(super) fn fetch(process: &Process, tid: u32, at: RuntimeAddr) -> Result<Fetched, NoInstruction> {
    let first = recorded_block(process, tid, block_of(at))?;
    let mut bytes = [0; MAX_LENGTH];
    let available = match first {
        Some(block) if !block.readable => from_block(block.bytes, at, &mut bytes),
        _ => from_memory(process, at, &mut bytes, |this_page| in_place(at, this_page)),
    };
    let instruction = decode(bytes.get(..available).unwrap_or(&bytes), at, process.vendor)
        .map_err(|_| NoInstruction::Undecodable)?;

    let mut differs = false;
    let mut done = 0;
    while done < instruction.len() {
        let part = at.plus(done as u64);
        let offset = part.0 as usize % BLOCK;
        let length = (instruction.len() - done).min(BLOCK - offset);
        let block = if done == 0 { first } else { recorded_block(process, tid, block_of(part))? };
        let recorded = block.and_then(|block| block.bytes.get(offset..offset + length));
        differs |= recorded != bytes.get(done..done + length);
        done += length;
    }
    Ok(Fetched { class: Class::of(&instruction), instruction, bytes, differs })
}

/// Reads and decodes the instruction at `at`, which gets no row.
///
/// # Signal safety
/// As [`fetch`].
pub(super) fn peek(process: &Process, at: RuntimeAddr) -> Result<Fetched, NoInstruction> {
    let mut bytes = [0; MAX_LENGTH];
    let memory = process.memory();
    let available = from_memory(process, at, &mut bytes, |this_page| memory.read(at, this_page));
    if available == 0 {
        return Err(NoInstruction::Undecodable);
    }
    let instruction = decode(bytes.get(..available).unwrap_or(&bytes), at, process.vendor)
        .map_err(|_| NoInstruction::Undecodable)?;
    Ok(Fetched { class: Class::of(&instruction), instruction, bytes, differs: false })
}

fn block_of(at: RuntimeAddr) -> RuntimeAddr {
    RuntimeAddr(at.0 & !(BLOCK as u64 - 1))
}

/// Bytes from `at` on as the block has them: how many.
fn from_block(block: &[u8; BLOCK], at: RuntimeAddr, bytes: &mut [u8; MAX_LENGTH]) -> usize {
    let rest = block.get(at.0 as usize % BLOCK..).unwrap_or(&[]);
    copy(rest, bytes);
    rest.len().min(MAX_LENGTH)
}

/// Bytes from `at` on as memory has them now, those of its page read by `read`: how many, 0 when it fails.
fn from_memory(
    process: &Process,
    at: RuntimeAddr,
    bytes: &mut [u8; MAX_LENGTH],
    read: impl FnOnce(&mut [u8]) -> bool,
) -> usize {
    let here = (PAGE - at.0 % PAGE).min(MAX_LENGTH as u64) as usize;
    let (this_page, next_page) = bytes.split_at_mut(here);
    if !read(this_page) {
        return 0;
    }
    let more = !next_page.is_empty() && process.memory().read(at.plus(here as u64), next_page);
    process.patches.hide(at, bytes, process.memory());
    if more { MAX_LENGTH } else { here }
}

/// What lies at `at`, read in place.
fn in_place(at: RuntimeAddr, into: &mut [u8]) -> bool {
    // SAFETY: a block of this page was readable when it was recorded, and the CPU is about to execute it.
    copy(unsafe { std::slice::from_raw_parts(at.0 as *const u8, into.len()) }, into);
    true
}

/// Copies as much as both have, without a call to memcpy.
fn copy(from: &[u8], to: &mut [u8]) {
    for (to, from) in to.iter_mut().zip(from) {
        // SAFETY: a plain store through a reference; volatile keeps the loop from becoming a libc call.
        unsafe { std::ptr::from_mut(to).write_volatile(*from) };
    }
}

/// The block as the trace has it, recorded on first sight. `None` when another thread is at it or the table is
/// full: then the step carries its own bytes.
fn recorded_block(
    process: &Process,
    tid: u32,
    block: RuntimeAddr,
) -> Result<Option<Block<'_>>, NoInstruction> {
    match process.blocks.find(block) {
        Found::Recorded(block) => Ok(Some(block)),
        Found::Unavailable => Ok(None),
        Found::Claimed(claim) => {
            let block = record_block(process, tid, block).map_err(|_| NoInstruction::NoRoom)?;
            claim.publish(block);
            Ok(Some(block))
        }
    }
}

fn record_block(process: &Process, tid: u32, address: RuntimeAddr) -> Result<Block<'static>, NoRoom> {
    let image = process.image();
    let memory = process.memory();
    let mut bytes = [0; BLOCK];
    let readable = memory.read(address, &mut bytes);
    if !readable {
        read_unreadable(address, &mut bytes);
    }
    process.patches.hide(address, &mut bytes, process.memory());
    let mut known = [0; BLOCK / 8];
    let mut start = [0; BLOCK / 8];
    let mut differs = [0; BLOCK / 8];
    let mut module = NO_MODULE;
    // The block may begin before the range that has its code.
    if let Some(code) = image.code_at(address).or_else(|| image.code_at(address.plus(BLOCK as u64 - 1))) {
        module = code.module;
        if let Some(map) = &code.map {
            boundaries(map, address.in_elf(code.bias), &mut known, &mut start);
        }
        if let Some((file, length)) = code.file {
            let offset = address.since(code.range.start);
            let mut original = [0; BLOCK];
            let inside = offset.checked_add(BLOCK as u64).is_some_and(|end| end <= length);
            if inside && memory.read(file.plus(offset), &mut original) {
                differences(&bytes, &original, &mut differs);
            }
        }
    }
    let block = CodeBlock { address, bytes: &bytes, known: &known, start: &start, differs: &differs, module };
    let symbols = image.symbols_in(address, address.plus(BLOCK as u64), SYMBOLS_PER_BLOCK);
    let mut named = [NO_SYMBOL; SYMBOLS_PER_BLOCK];
    for (to, from) in named.iter_mut().zip(symbols) {
        *to = symbol_ref(image, from);
    }
    let recorded = process.buffer.code(tid, &block, named.get(..symbols.len()).unwrap_or(&named))?;
    // SAFETY: the block just written to the trace window, which stays mapped as long as the process is armed.
    Ok(Block { bytes: unsafe { &*recorded }, readable })
}

/// Reads memory that may only be executed (protection keys), the way a debugger does. Zeros where that fails too.
///
/// # Signal safety
/// openat, pread64 and close.
fn read_unreadable(at: RuntimeAddr, into: &mut [u8]) {
    let (to, length) = (into.as_mut_ptr() as u64, into.len() as u64);
    let _ = proc_file::with(proc_file::MEM, libc::O_RDONLY, |fd| {
        // SAFETY: bounded by the slice.
        unsafe { raw::syscall(libc::SYS_pread64, [fd, to, length, at.0, 0, 0]) }
    });
}

/// Sets one bit for each byte that the instruction map knows, and one for each that starts an instruction.
fn boundaries(
    map: &InstructionMap,
    block: ElfAddr,
    known: &mut [u8; BLOCK / 8],
    start: &mut [u8; BLOCK / 8],
) {
    for (index, (known, start)) in known.iter_mut().zip(start).enumerate() {
        for bit in 0..8 {
            match map.is_start(ElfAddr(block.0.wrapping_add(index as u64 * 8 + bit))) {
                Boundary::Yes => {
                    *known |= 1 << bit;
                    *start |= 1 << bit;
                }
                Boundary::No => *known |= 1 << bit,
                Boundary::Unknown => {}
            }
        }
    }
}

/// Sets one bit for each byte that differs.
fn differences(bytes: &[u8; BLOCK], original: &[u8; BLOCK], bits: &mut [u8; BLOCK / 8]) {
    let pairs = bytes.chunks_exact(8).zip(original.chunks_exact(8));
    for (bits, (here, there)) in bits.iter_mut().zip(pairs) {
        for (bit, (here, there)) in here.iter().zip(there).enumerate() {
            *bits |= u8::from(here != there) << bit;
        }
    }
}

/// Sees to it that the trace can name `target`, which lies outside every recorded block.
///
/// # Signal safety
/// As [`fetch`], without reading `target`'s memory.
pub(super) fn name_target(process: &Process, tid: u32, target: RuntimeAddr) -> Result<(), NoRoom> {
    if let Found::Claimed(_) = process.targets.find(target) {
        let image = process.image();
        let symbols = image.symbols_in(target, target.plus(1), 1);
        if let Some(symbol) = symbols.first() {
            process.buffer.symbols(tid, &[symbol_ref(image, symbol)])?;
        }
    }
    Ok(())
}

fn symbol_ref<'a>(image: &KnownImage, symbol: &'a KnownSymbol) -> SymbolRef<'a> {
    SymbolRef {
        start: symbol.start,
        size: symbol.size,
        module: image.code_at(symbol.start).map_or(NO_MODULE, |code| code.module),
        name: &symbol.name,
        raw: &symbol.raw,
    }
}
