//! Registers, flags, memory and system calls of one row, in words.

use super::cells::Reader;
use super::changes;
use super::hex;
use super::line::Line;
use super::palette::Palette;
use super::rows::StepRow;
use super::strings::{self, Strings};
use crate::record::step::{Access, MemoryAccess};

/// `rax 0x30→0x12`, one for each register that changed.
pub fn push_registers(line: &mut Line, palette: &Palette, row: &StepRow, reader: Reader, strings: &Strings) {
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
    let Some(change) = &row.entry.registers else { return };
    let mut gap = 0;
    for (name, set) in changes::flag_bits(change) {
        line.spaces(gap).push(if set { "+" } else { "-" }).push(name);
        gap = apart;
    }
}

/// `read 8 [0x7ffd1b2c3d48]=0x1`, one for each operand.
pub fn push_memory(line: &mut Line, palette: &Palette, row: &StepRow) {
    let mut gap = 0;
    for memory in &row.entry.memory {
        line.spaces(gap);
        gap = 2;
        push_access(line, palette, memory);
    }
}

fn push_access(line: &mut Line, palette: &Palette, memory: &MemoryAccess) {
    let access = match memory.access {
        Access::Read => "read",
        Access::Write => "write",
        Access::ReadWrite => "update",
    };
    line.push(access).push(" ").push_decimal(u64::from(memory.size)).push(" [");
    line.push_with(|text| hex::push(text, memory.address.0)).push("]=").style(palette.value);
    let value = memory.value.get(..usize::from(memory.size)).unwrap_or(&memory.value);
    line.push_with(|text| hex::push_little_endian(text, value));
    if let Some(text) = strings::operand(value) {
        line.push(" ").push(&text);
    }
    line.style(palette.end);
}
