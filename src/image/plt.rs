//! Names for PLT stubs: each jumps through a slot, and a relocation says whose address the slot gets.

use super::decode::{Vendor, decode};
use super::elf::Elf;
use super::elf_symbols::{Candidate, SymbolKind};
use super::slots::{self, Slot};
use super::symbols::rank;
use crate::address::{ElfAddr, RuntimeAddr};
use iced_x86::{Mnemonic, OpKind};
use std::collections::HashMap;

/// Linkers put stubs here; `.plt.sec` is the second half of the split PLT for CET and MPX.
const SECTIONS: [&str; 3] = [".plt", ".plt.sec", ".plt.got"];

/// A stub per slot, named `strlen@plt`. `named` are the symbols known so far, for slots without a symbol.
pub(super) fn stubs(elf: &Elf, named: &[Candidate]) -> Vec<Candidate> {
    if !elf.is_x86_64() {
        return Vec::new();
    }
    let slots = slots(elf, named);
    let sections = SECTIONS.iter().filter_map(|name| elf.section(name));
    sections.flat_map(|(header, bytes)| in_section(ElfAddr(header.sh_addr), bytes, &slots)).collect()
}

/// Every jump through a known slot, and the stub it ends: from the end of the stub before it, rounded up to the
/// stubs' alignment.
fn in_section(start: ElfAddr, bytes: &[u8], slots: &HashMap<u64, String>) -> Vec<Candidate> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut entry = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        // The compiler and linker agree on the encoding, so the vendor does not matter: no 66 prefix occurs.
        let Ok(instruction) = decode(rest, RuntimeAddr(start.0 + at as u64), Vendor::Intel) else {
            at += 1;
            continue;
        };
        at += instruction.len();
        let through_slot = instruction.mnemonic() == Mnemonic::Jmp
            && instruction.op0_kind() == OpKind::Memory
            && instruction.is_ip_rel_memory_operand();
        if !through_slot {
            // Lazy stubs end with a push and a jump to the first entry.
            if instruction.mnemonic() == Mnemonic::Jmp {
                entry = at.next_multiple_of(8);
            }
            continue;
        }
        if let Some(name) = slots.get(&instruction.memory_displacement64()) {
            let end = stub_end(bytes, at);
            found.push(Candidate {
                name: format!("{name}@plt"),
                version: None,
                address: ElfAddr(start.0 + entry as u64),
                size: (end - entry) as u64,
                kind: SymbolKind::Plt,
                local: true,
                source: 0,
            });
            at = end;
        }
        entry = at.next_multiple_of(8);
    }
    found
}

/// Behind the jump: `push n; jmp first` in a lazy stub, padding in the others.
fn stub_end(bytes: &[u8], jump_end: usize) -> usize {
    match bytes.get(jump_end..) {
        Some([0x68, _, _, _, _, 0xe9, ..]) => (jump_end + 10).min(bytes.len()),
        _ => jump_end,
    }
}

/// Address of each slot, and the name behind it.
fn slots(elf: &Elf, named: &[Candidate]) -> HashMap<u64, String> {
    let name = |slot: Slot| match slot {
        Slot::Symbol(name) => Some(name),
        Slot::Address(target) => {
            let aliases = named.iter().filter(|c| c.address == target);
            aliases.min_by(|a, b| rank(a).cmp(&rank(b))).map(|c| c.name.clone())
        }
    };
    slots::slots(elf).into_iter().filter_map(|(at, slot)| Some((at.0, name(slot)?))).collect()
}
