//! One retired instruction as one line.

use std::collections::HashSet;
use std::rc::Rc;

use super::changes;
use super::columns::{Columns, DEEPEST, INDENT};
use super::hex;
use super::line::Line;
use super::names;
use super::options::Options;
use super::palette::Palette;
use super::place::Place;
use super::rows::StepRow;
use super::{syscall_arity, syscall_result};
use crate::record::reader::Trace;
use crate::record::step::{Access, MemoryAccess, RegisterChange, Syscall};
use crate::record::verdict::Verdict;

pub const MODULE: &str = "module+offset";
pub const SYMBOL: &str = "symbol";
pub const BYTES: &str = "bytes";
pub const INSTRUCTION: &str = "instruction";

/// Writes step rows in the columns of the current call, each in the same buffer.
pub struct StepLines<'t> {
    trace: &'t Trace,
    palette: Palette,
    columns: Columns,
    line: Line,
    /// Modules and symbols whose whole names were written already.
    named: HashSet<Rc<str>>,
}

impl<'t> StepLines<'t> {
    #[must_use]
    pub fn new(trace: &'t Trace, options: &Options) -> Self {
        Self {
            trace,
            palette: options.palette,
            columns: Columns::default(),
            line: Line::default(),
            named: HashSet::new(),
        }
    }

    /// Puts the rows that follow into other columns.
    pub fn lay_out(&mut self, columns: Columns) {
        self.columns = columns;
    }

    /// Where a marker between rows begins.
    #[must_use]
    pub const fn marker_column(&self) -> usize {
        self.columns.module
    }

    /// The headings above a call's rows, with a line feed.
    pub fn heading(&mut self) -> &str {
        let Self { palette, columns, line, .. } = self;
        line.clear();
        line.style(palette.faint);
        line.stop(columns.ordinal_end - 1).push("n");
        line.stop(columns.module).push(MODULE);
        line.stop(columns.symbol).push(SYMBOL);
        line.stop(columns.bytes).push(BYTES);
        line.stop(columns.instruction).push(INSTRUCTION);
        line.stop(columns.changes).push("changed");
        line.style(palette.end);
        line.finish()
    }

    /// The row's line, with a line feed; before it, the whole names of a module and a symbol too long for
    /// their columns, once each.
    pub fn line(&mut self, row: &StepRow) -> &str {
        let Self { palette, columns, line, .. } = self;
        let code = &*row.code;
        line.clear();
        for name in [&code.long_module, &code.long_symbol].into_iter().flatten() {
            if !self.named.insert(Rc::clone(name)) {
                continue;
            }
            line.spaces(columns.module).style(palette.faint).push(name).push(":").style(palette.end);
            line.feed();
        }
        line.push_decimal_right(row.entry.n, columns.ordinal_end);
        match row.entry.verdict {
            Verdict::Exact => {}
            Verdict::Reconstructed => _ = line.push("~"),
            _ => _ = line.style(palette.bad).push("!").style(palette.end),
        }
        line.stop(columns.module).style(palette.faint).push(&code.in_module).style(palette.end);
        line.stop(columns.symbol).style(palette.name).push(&code.in_symbol).style(palette.end);
        line.stop(columns.bytes).style(palette.faint).push(&code.hex).style(palette.end);
        line.stop(columns.instruction);
        push_indent(line, row.entry.depth);
        line.push(&code.cell);
        if let Some(count) = row.entry.count {
            line.push(" ×").push_decimal(count);
        }
        self.push_changes(row);
        self.push_remarks(row);
        self.line.finish()
    }

    fn push_changes(&mut self, row: &StepRow) {
        let Self { palette, columns, line, .. } = self;
        line.stop(columns.changes);
        let start = line.width();
        if let Some(syscall) = &row.entry.syscall {
            push_syscall(line, palette, syscall);
        }
        if let Some(change) = &row.entry.registers {
            push_registers(line, palette, change, start);
        }
        for access in &row.entry.memory {
            separate(line, start);
            push_memory(line, palette, access);
        }
    }

    /// What a reader has to know about the row beside what it did.
    fn push_remarks(&mut self, row: &StepRow) {
        let verdict = match row.entry.verdict {
            Verdict::Exact | Verdict::Reconstructed => None,
            Verdict::Zero => Some("zero-step: a signal, and nothing had retired".to_owned()),
            Verdict::Skid(late) => Some(format!("skid {late}")),
            Verdict::Unexplained { expected } => {
                Some(format!("unexplained: expected {}", Place::of(self.trace, expected).full(expected)))
            }
            Verdict::Lost => Some("lost: steps before this row are missing".to_owned()),
        };
        let Self { palette, columns, line, .. } = self;
        if row.entry.differs_from_file {
            separate(line, columns.changes);
            line.style(palette.marker).push("≠ file").style(palette.end);
        }
        if let Some(verdict) = verdict {
            separate(line, columns.changes);
            line.style(palette.bad).push(&verdict).style(palette.end);
        }
    }
}

/// Sets an item off from the one before it in the same cell.
fn separate(line: &mut Line, start: usize) {
    if line.width() > start {
        line.spaces(2);
    }
}

fn push_indent(line: &mut Line, depth: u32) {
    line.spaces(INDENT * depth.min(DEEPEST) as usize);
    if depth > DEEPEST {
        line.push("⋯").push_decimal(u64::from(depth)).push(" ");
    }
}

fn push_registers(line: &mut Line, palette: &Palette, change: &RegisterChange, start: usize) {
    for (name, before, after) in changes::general(change) {
        separate(line, start);
        line.push(name).push(" ").style(palette.faint).push_with(|text| hex::push(text, before));
        line.push("→").style(palette.end).style(palette.value);
        line.push_with(|text| changes::push_after(text, before, after)).style(palette.end);
    }
    let mut gap = 2;
    for (name, set) in changes::flag_bits(change) {
        if line.width() > start {
            line.spaces(gap);
        }
        line.push(if set { "+" } else { "-" }).push(name);
        gap = 1;
    }
}

fn push_memory(line: &mut Line, palette: &Palette, memory: &MemoryAccess) {
    let access = match memory.access {
        Access::Read => "read",
        Access::Write => "write",
        Access::ReadWrite => "update",
    };
    line.push(access).push(" ").push_decimal(u64::from(memory.size)).push(" [");
    line.push_with(|text| hex::push(text, memory.address.0)).push("]=").style(palette.value);
    let value = memory.value.get(..usize::from(memory.size)).unwrap_or(&memory.value);
    line.push_with(|text| hex::push_little_endian(text, value)).style(palette.end);
}

fn push_syscall(line: &mut Line, palette: &Palette, call: &Syscall) {
    line.style(palette.name).push(&names::syscall(call.number)).style(palette.end).push("(");
    let used = syscall_arity::arguments(call.number);
    for (i, &argument) in call.arguments.iter().take(used).enumerate() {
        if i > 0 {
            line.push(", ");
        }
        line.push_with(|text| hex::push(text, argument));
    }
    line.push(")");
    let Some(result) = syscall_result::result(call) else { return };
    line.push(" = ").style(palette.value);
    match names::error(result) {
        Some(error) => line.push("-").push(&error),
        None => line.push_with(|text| hex::push(text, result)),
    };
    line.style(palette.end);
}
