//! What stands around a call's rows: its start values, its result, or that it never returned.

use std::io::{self, Write};

use super::cells::Cells;
use super::changes;
use super::hex::hex;
use super::line::Line;
use super::palette::Palette;
use super::place::Place;
use super::rows::MarkerRow;
use crate::record::reader::Trace;
use crate::registers::{GENERAL_NAMES, R8, R9, R10, R11, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP, Registers};

/// Arguments first, in their order (System V ABI, 3.2.3), then the rest: four to a line.
const ORDER: [[usize; 4]; 4] =
    [[RDI, RSI, RDX, RCX], [R8, R9, RAX, R10], [RSP, RBP, RBX, R11], [12, 13, 14, 15]];

/// Registers that arguments may be in.
const ARGUMENTS: usize = 6;

/// Columns per register: name, space, up to eighteen digits, gap.
const CELL: usize = 25;

/// The call's heading and the registers it began with.
pub fn write_entry(
    trace: &Trace,
    entry: &MarkerRow,
    registers: &Registers,
    cells: &Cells<'_>,
    out: &mut impl Write,
) -> io::Result<()> {
    let Palette { name, faint, value, end, .. } = cells.palette;
    let at = registers.rip;
    let place = Place::of(trace, at);
    let (function, module) = (place.short(at), place.in_module(at));
    let beside = if function == module { String::new() } else { format!(" ({module})") };
    let function = entry.chosen.as_deref().unwrap_or_default().to_owned() + &function;
    if let Some(stable) = &entry.stable {
        writeln!(out, "call {}: {name}{function}{end}{beside}, thread {}", entry.call, stable.thread)?;
        let mut line = Line::default();
        for (name, argument) in &stable.registers {
            line.spaces(2)
                .style(faint)
                .push(name)
                .style(end)
                .push(" ")
                .style(value)
                .push(argument)
                .style(end);
        }
        return write!(out, "{}\n{}", line.as_str(), if stable.registers.is_empty() { "" } else { "\n" });
    }
    writeln!(out, "call {}: {name}{function}{end}{beside}, thread {}", entry.call, entry.thread)?;
    let mut line = Line::default();
    for four in ORDER {
        line.clear();
        for (i, register) in four.into_iter().enumerate() {
            line.stop(2 + i * CELL).style(faint).push(GENERAL_NAMES[register]).style(end);
            line.stop(2 + i * CELL + 4).style(value).push(&hex(registers.general[register])).style(end);
        }
        writeln!(out, "{}", line.as_str())?;
    }
    for register in ORDER.into_iter().flatten().take(ARGUMENTS) {
        if let Some(text) = cells.string(registers.general[register]) {
            writeln!(out, "  {faint}{:<3} points to{end} {value}{text}{end}", GENERAL_NAMES[register])?;
        }
    }
    let set = changes::set_flags(registers.rflags);
    writeln!(out, "  {faint}flags{end} {value}{set}{end} {faint}({}){end}\n", hex(registers.rflags))
}

/// The heading of a call whose start is not in the trace.
pub fn write_without_entry(call: u64, palette: &Palette, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "call {call}: {}its beginning is missing from the trace{}", palette.bad, palette.end)
}

/// The call's result, after `rows` steps.
pub fn write_return(rows: u64, result: &str, palette: &Palette, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "  returned after {rows} {}: {}{result}{}", steps(rows), palette.value, palette.end)
}

/// That the call's frame was discarded after `rows` steps; `values` is what the registers of a result then held.
pub fn write_discarded(rows: u64, values: &str, palette: &Palette, out: &mut impl Write) -> io::Result<()> {
    let Palette { marker, value, end, .. } = palette;
    let steps = steps(rows);
    writeln!(
        out,
        "  {marker}left without a return (longjmp or unwinding) after {rows} {steps}{end}; {value}{values}{end}"
    )
}

/// `step` or `steps`.
#[must_use]
pub const fn steps(count: u64) -> &'static str {
    if count == 1 { "step" } else { "steps" }
}
