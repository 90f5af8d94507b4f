//! Whether a trace can begin at a place. Where perf is refused, a breakpoint instruction is written there: inside an
//! instruction or in data it would change what the program computes.

use super::boundary::{Boundary, InstructionMap};
use super::decode::{MAX_LENGTH, Vendor, decode};
use super::elf::Elf;
use super::elf_symbols::{SymbolKind, object_at};
use super::symbols::SymbolTable;
use super::unwind::covered;
use crate::address::{ElfAddr, RuntimeAddr};
use iced_x86::{Mnemonic, OpKind};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

/// How sure the file is that an instruction starts at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// The code of a function, decoded from its start, has one there.
    Known,
    /// No function that the file names or unwinds covers the place.
    Unknown,
}

/// Why no trace can begin at a place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoEntry {
    #[error("{file}+{at} is not the start of an instruction; the nearest: {}", places(file, nearest))]
    Inside { file: String, at: ElfAddr, nearest: Vec<ElfAddr> },
    #[error("{file}+{at} is no code, it is in the object `{name}`")]
    Object { file: String, at: ElfAddr, name: String },
    #[error(
        "{file}+{at} is no code: `{name}` is untyped, no branch leads to it, and {file}+{by} reads it as data"
    )]
    Read { file: String, at: ElfAddr, name: String, by: ElfAddr },
    #[error("{file}+{at} is no code: the bytes there are no instruction")]
    Undecodable { file: String, at: ElfAddr },
}

fn places(file: &str, addresses: &[ElfAddr]) -> String {
    addresses.iter().map(|at| format!("{file}+{at}")).collect::<Vec<_>>().join(", ")
}

/// The places of one file. What an answer needs is worked out when the first question needs it.
pub struct Entries<'a> {
    elf: &'a Elf,
    symbols: &'a SymbolTable,
    vendor: Vendor,
    map: OnceCell<InstructionMap>,
    uses: OnceCell<Uses>,
}

/// What the file's instructions say of the addresses that they name.
#[derive(Default)]
struct Uses {
    /// By the address, an instruction that reads or writes memory there.
    data: BTreeMap<ElfAddr, ElfAddr>,
    /// Where direct branches lead.
    code: BTreeSet<ElfAddr>,
}

impl<'a> Entries<'a> {
    #[must_use]
    pub const fn of(elf: &'a Elf, symbols: &'a SymbolTable, vendor: Vendor) -> Self {
        Self { elf, symbols, vendor, map: OnceCell::new(), uses: OnceCell::new() }
    }

    /// Whether a trace can begin at `at`. `file` is what to call the file.
    ///
    /// # Errors
    /// [`NoEntry`]: it cannot.
    pub fn at(&self, at: ElfAddr, file: &str) -> Result<Certainty, NoEntry> {
        let file = || file.to_owned();
        let symbol = self.symbols.at(at).map(|(symbol, _)| symbol);
        if let Some(name) = object_at(self.elf, at) {
            return Err(NoEntry::Object { file: file(), at, name });
        }
        let untyped = symbol.filter(|symbol| symbol.kind == SymbolKind::NoType);
        if let Some((symbol, by)) = untyped.and_then(|symbol| Some((symbol, self.read_by(symbol.address)?))) {
            return Err(NoEntry::Read { file: file(), at, name: symbol.name().into_owned(), by });
        }
        let map = self.map();
        if map.is_start(at) != Boundary::Unknown {
            return judge(map, at, file());
        }
        let bytes = self.elf.bytes_at(at, MAX_LENGTH as u64).unwrap_or(&[]);
        if decode(bytes, RuntimeAddr(at.0), self.vendor).is_err() {
            return Err(NoEntry::Undecodable { file: file(), at });
        }
        // A stripped file keeps what unwinding needs to know of its functions.
        match covered(self.elf, at) {
            Some(function) => {
                judge(&InstructionMap::of_ranges(self.elf, &[function], self.vendor), at, file())
            }
            None => Ok(Certainty::Unknown),
        }
    }

    fn map(&self) -> &InstructionMap {
        self.map.get_or_init(|| InstructionMap::of(self.elf, self.symbols, self.vendor))
    }

    /// An instruction that takes what is at `at` for data, if none takes it for code. The address alone (`lea`) says
    /// nothing: functions have one, too.
    fn read_by(&self, at: ElfAddr) -> Option<ElfAddr> {
        let uses = self.uses.get_or_init(|| Uses::of(self.elf, self.map(), self.vendor));
        uses.data.get(&at).copied().filter(|_| !uses.code.contains(&at))
    }
}

impl Uses {
    fn of(elf: &Elf, map: &InstructionMap, vendor: Vendor) -> Self {
        let mut uses = Self::default();
        for at in map.starts() {
            let Some(bytes) = elf.bytes_at(at, MAX_LENGTH as u64) else { continue };
            let Ok(instruction) = decode(bytes, RuntimeAddr(at.0), vendor) else { continue };
            if instruction.op0_kind() == OpKind::NearBranch64 {
                uses.code.insert(ElfAddr(instruction.near_branch64()));
            } else if instruction.is_ip_rel_memory_operand()
                && !matches!(instruction.mnemonic(), Mnemonic::Lea | Mnemonic::Nop)
            {
                uses.data.entry(ElfAddr(instruction.ip_rel_memory_address())).or_insert(at);
            }
        }
        uses
    }
}

fn judge(map: &InstructionMap, at: ElfAddr, file: String) -> Result<Certainty, NoEntry> {
    match map.is_start(at) {
        Boundary::Yes => Ok(Certainty::Known),
        Boundary::Unknown => Ok(Certainty::Unknown),
        Boundary::No => {
            let is_start = |address: &ElfAddr| map.is_start(*address) == Boundary::Yes;
            let near = 1..=MAX_LENGTH as u64;
            let before = near.clone().map(|by| ElfAddr(at.0.saturating_sub(by))).find(is_start);
            let after = near.map(|by| ElfAddr(at.0.saturating_add(by))).find(is_start);
            Err(NoEntry::Inside { file, at, nearest: before.into_iter().chain(after).collect() })
        }
    }
}
