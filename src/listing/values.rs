//! Registers, flags, memory and system calls of one row, in words.

use super::cells::Reader;
use super::changes;
use super::hex;
use super::line::Line;
use super::operand_extent::Extent;
use super::palette::Palette;
use super::rows::StepRow;
use super::strings::{self, Strings};
use crate::record::step::{Access, MemoryAccess};

/// Whether the row has a register to show.
#[must_use]
pub fn some_register(row: &StepRow) -> bool {
    match &row.stable {
        Some(stable) => !stable.registers.is_empty(),
        None => row.entry.registers.as_ref().is_some_and(|change| changes::general(change).next().is_some()),
    }
}

/// `rax 0x30→0x12`, one for each register that changed.
pub fn push_registers(line: &mut Line, palette: &Palette, row: &StepRow, reader: Reader, strings: &Strings) {
    if let Some(stable) = &row.stable {
        let mut gap = 0;
        for (name, before, after) in &stable.registers {
            line.spaces(gap).push(name).push(" ").style(palette.faint).push(before);
            line.push("→").style(palette.end).style(palette.value).push(after).style(palette.end);
            gap = 2;
        }
        return;
    }
    let Some(change) = &row.entry.registers else { return };
    let mut gap = 0;
    for (name, before, after) in changes::general(change) {
        line.spaces(gap);
        gap = 2;
        line.push(name).push(" ").style(palette.faint).push_with(|text| hex::push(text, before));
        line.push("→").style(palette.end).style(palette.value);
        line.push_with(|text| match reader {
            Reader::Program => hex::push(text, after),
            _ => changes::push_after(text, before, after),
        });
        if let Some(text) = strings.at(after) {
            line.push(" ").push(&text);
        }
        line.style(palette.end);
    }
}

/// `+CF -ZF`, one for each named flag that changed.
pub fn push_flags(line: &mut Line, row: &StepRow, apart: usize) {
    let mut gap = 0;
    let mut push = |(name, set): (&str, bool)| {
        line.spaces(gap).push(if set { "+" } else { "-" }).push(name);
        gap = apart;
    };
    match (&row.stable, &row.entry.registers) {
        (Some(stable), _) => stable.flags.iter().copied().for_each(push),
        (None, Some(change)) => changes::flag_bits(change).for_each(&mut push),
        (None, None) => {}
    }
}

/// `read 8 [0x7ffd1b2c3d48]=0x1`, one for each operand; `write up to 32 […]=…` where a mask decides about each element.
pub fn push_memory(line: &mut Line, palette: &Palette, row: &StepRow) {
    let mut gap = 0;
    let extent = Extent::of(row);
    if extent.is_empty() {
        return; // the registers say how often it ran: not at all
    }
    let up_to = if extent.masked { "up to " } else { "" };
    let cut = |line: &mut Line, size: u8| {
        if let Some(whole) = extent.beyond(size) {
            line.push(" … ").push_decimal(u64::from(size)).push(" of ").push_decimal(whole).push(" bytes");
        }
    };
    if let Some(stable) = &row.stable {
        for memory in &stable.memory {
            line.spaces(gap)
                .push(word(memory.access))
                .push(" ")
                .push(up_to)
                .push_decimal(u64::from(memory.size));
            line.push(" [").push(&memory.address).push("]=");
            line.style(palette.value).push(&memory.value).style(palette.end);
            cut(line, memory.size);
            gap = 2;
        }
        return;
    }
    for memory in &row.entry.memory {
        line.spaces(gap);
        gap = 2;
        push_access(line, palette, memory, up_to);
        cut(line, memory.size);
    }
}

fn push_access(line: &mut Line, palette: &Palette, memory: &MemoryAccess, up_to: &str) {
    line.push(word(memory.access)).push(" ").push(up_to).push_decimal(u64::from(memory.size)).push(" [");
    line.push_with(|text| hex::push(text, memory.address.0)).push("]=").style(palette.value);
    let value = memory.value.get(..usize::from(memory.size)).unwrap_or(&memory.value);
    line.push_with(|text| hex::push_little_endian(text, value));
    if let Some(text) = strings::operand(value) {
        line.push(" ").push(&text);
    }
    line.style(palette.end);
}

const fn word(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::Write => "write",
        Access::ReadWrite => "update",
    }
}
