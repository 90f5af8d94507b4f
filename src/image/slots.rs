//! What the slots of the global offset table hold: addresses of functions and variables, by the relocations that fill them.

use super::elf::{Elf, string};
use super::names::strip_version;
use crate::address::ElfAddr;
use std::collections::HashMap;

/// Relocation types that fill a slot (x86-64 psABI, table 4.9).
mod relocation {
    pub const GLOB_DAT: u32 = 6;
    pub const JUMP_SLOT: u32 = 7;
    pub const RELATIVE: u32 = 8;
    /// The slot gets what the function at the addend returns.
    pub const IRELATIVE: u32 = 37;
}

/// What a slot gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Slot {
    /// The address of what has this name, without its version, wherever the loader finds it.
    Symbol(String),
    /// This address of the file itself, or what the code there chooses.
    Address(ElfAddr),
}

/// Every slot by its address. Pointers in other tables, which the same relocations fill, are none.
#[must_use]
pub fn slots(elf: &Elf) -> HashMap<ElfAddr, Slot> {
    if !elf.is_x86_64() {
        return HashMap::new();
    }
    let file = elf.file_bytes();
    let symbols = elf.dynamic().symbols(file).zip(elf.dynamic().strings(file));
    let tables = [".got", ".got.plt"].map(|name| {
        let start = elf
            .section(name)
            .map(|(header, _)| header.sh_addr..header.sh_addr.saturating_add(header.sh_size));
        start.unwrap_or_default()
    });
    let mut slots = HashMap::new();
    for entry in elf.dynamic().relocations(file).iter().flatten() {
        let target = ElfAddr(entry.r_addend.unwrap_or(0) as u64);
        let slot = match entry.r_type {
            relocation::IRELATIVE => Some(Slot::Address(target)),
            relocation::RELATIVE => {
                tables.iter().any(|table| table.contains(&entry.r_offset)).then_some(Slot::Address(target))
            }
            relocation::GLOB_DAT | relocation::JUMP_SLOT => symbols.as_ref().and_then(|(symbols, names)| {
                let symbol = symbols.get(entry.r_sym).filter(|_| entry.r_sym != 0)?;
                let name = String::from_utf8_lossy(string(names, symbol.st_name as u64)?);
                Some(strip_version(&name).to_owned()).filter(|name| !name.is_empty()).map(Slot::Symbol)
            }),
            _ => None,
        };
        if let Some(slot) = slot {
            slots.insert(ElfAddr(entry.r_offset), slot);
        }
    }
    slots
}
