//! What a row says in each column, for terminals and documents alike.

use std::rc::Rc;

use super::changes;
use super::column::Column;
use super::hex;
use super::kind::Kind;
use super::layout::{DEEPEST, INDENT};
use super::line::Line;
use super::palette::Palette;
use super::place::Place;
use super::rows::StepRow;
use super::stable::MASKED;
use super::strings::Strings;
use super::{syscall_text, values};
use crate::record::reader::Trace;
use crate::record::verdict::Verdict;

/// Who reads the cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// A person at a terminal: long names are cut to their column, and digits that an address shares with the one before
    /// it are left out.
    Terminal,
    /// A person with a document: names are whole, but for those that would fill the page.
    Document,
    /// A program: names and numbers are whole, and nothing stands there for decoration.
    Program,
}

/// Characters of an instruction with its target that a document shows whole.
const DOCUMENT_INSTRUCTION: usize = 80;

/// Writes cells of one listing.
pub struct Cells<'t> {
    trace: &'t Trace,
    pub palette: Palette,
    reader: Reader,
    strings: Strings,
}

impl<'t> Cells<'t> {
    #[must_use]
    pub fn new(trace: &'t Trace, palette: Palette, reader: Reader) -> Self {
        Self { trace, palette, reader, strings: Strings::of(trace) }
    }

    /// Appends the cell; nothing where the row has nothing to say there.
    pub fn push(&self, line: &mut Line, column: Column, row: &StepRow) {
        let Palette { faint, name, end, .. } = self.palette;
        let (entry, code) = (&row.entry, &*row.code);
        match column {
            Column::Ordinal => _ = line.push_decimal(entry.n),
            Column::Call => _ = line.push_decimal(entry.call),
            Column::Thread => _ = line.push_decimal(row.thread()),
            Column::Depth => _ = line.push_decimal(u64::from(entry.depth)),
            Column::Address => {
                line.style(faint);
                match &row.stable {
                    Some(stable) if stable.address.is_empty() => {
                        line.push(&code.place.in_module(entry.address));
                    }
                    Some(stable) => _ = line.push(&stable.address),
                    None => _ = line.push_with(|text| hex::push(text, entry.address.0)),
                }
                line.style(end);
            }
            Column::Module => {
                line.style(faint);
                match self.reader {
                    _ if row.stable.as_ref().is_some_and(|stable| !stable.address.is_empty()) => {
                        line.push(row.stable.as_ref().map_or("", |stable| &stable.address))
                    }
                    Reader::Terminal => line.push(&code.in_module),
                    _ => line.push(&code.place.in_module(entry.address)),
                };
                line.style(end);
            }
            Column::Symbol => {
                line.style(name);
                match self.reader {
                    Reader::Terminal => line.push(&code.in_symbol),
                    Reader::Document if code.name_beyond_documents().is_some() => line.push(&code.in_symbol),
                    _ => line.push(&code.place.in_symbol().unwrap_or_default()),
                };
                line.style(end);
            }
            Column::Source => {
                if let Some(frame) = code.source.as_ref().and_then(|source| source.innermost()) {
                    line.style(faint)
                        .push(&frame.file)
                        .push(":")
                        .push_decimal(u64::from(frame.line))
                        .style(end);
                }
            }
            Column::Bytes => _ = line.style(faint).push(&code.hex).style(end),
            Column::Instruction => self.push_instruction(line, row),
            Column::Changed => self.push_changed(line, row),
            Column::Registers => self.push_registers(line, row),
            Column::Flags => values::push_flags(line, row, 1),
            Column::Memory => self.push_memory(line, row),
            Column::Syscall => syscall_text::push(line, &self.palette, row, &self.strings),
            Column::Verdict => self.push_verdict(line, row),
            // They are no part of the row.
            Column::Markers => {}
        }
    }

    fn push_instruction(&self, line: &mut Line, row: &StepRow) {
        if self.reader != Reader::Program {
            push_indent(line, row.entry.depth);
        }
        let stable = row.stable.as_ref().and_then(|stable| stable.instruction.as_deref());
        let Palette { call, branch, end, .. } = self.palette;
        let style = match row.code.kind {
            Kind::Call | Kind::Return => call,
            Kind::Jump | Kind::Conditional => branch,
            Kind::Other if row.entry.syscall.is_some() => branch,
            Kind::Other => "",
        };
        line.style(style);
        line.push(match self.reader {
            _ if stable.is_some() => stable.unwrap_or_default(),
            Reader::Terminal => &row.code.cell,
            Reader::Document if row.code.text.chars().count() > DOCUMENT_INSTRUCTION => &row.code.cell,
            _ => &row.code.text,
        });
        if let Some(count) = row.entry.count {
            match &row.stable {
                Some(stable) if stable.unknown_count => line.push(" ×").push(MASKED),
                _ => line.push(" ×").push_decimal(count),
            };
        }
        if let Some(arrow) = taken(row).filter(|_| self.reader != Reader::Program) {
            line.push(arrow);
        }
        line.style(if style.is_empty() { "" } else { end });
    }

    /// Who reads them.
    #[must_use]
    pub const fn reader(&self) -> Reader {
        self.reader
    }

    /// The text that a pointer leads to, among the program's constants.
    #[must_use]
    pub fn string(&self, address: u64) -> Option<Rc<str>> {
        self.strings.at(address)
    }

    fn push_changed(&self, line: &mut Line, row: &StepRow) {
        let start = line.width();
        syscall_text::push(line, &self.palette, row, &self.strings);
        if values::some_register(row) {
            separate(line, start);
            self.push_registers(line, row);
        }
        if changes::some_flag(row) {
            separate(line, start);
            values::push_flags(line, row, 1);
        }
        if !row.entry.memory.is_empty() {
            separate(line, start);
            self.push_memory(line, row);
        }
        self.push_remarks(line, row, start);
    }

    fn push_registers(&self, line: &mut Line, row: &StepRow) {
        values::push_registers(line, &self.palette, row, self.reader, &self.strings);
    }

    fn push_memory(&self, line: &mut Line, row: &StepRow) {
        values::push_memory(line, &self.palette, row);
    }

    /// What a reader has to know about the row beside what it did.
    fn push_remarks(&self, line: &mut Line, row: &StepRow, start: usize) {
        let Palette { marker, bad, end, .. } = self.palette;
        if let Some(chosen) = &row.chosen {
            separate(line, start);
            line.style(marker).push(chosen).style(end);
        }
        if row.entry.differs_from_file {
            separate(line, start);
            line.style(marker).push("≠ file").style(end);
        }
        let verdict = match row.entry.verdict {
            Verdict::Exact | Verdict::Reconstructed => return,
            Verdict::Zero => "zero-step: a signal, and nothing had retired".to_owned(),
            Verdict::Skid(late) => format!("skid {late}"),
            Verdict::Unexplained { expected } => {
                format!("unexplained: expected {}", Place::of(self.trace, expected).full(expected))
            }
            Verdict::Lost => "lost: steps before this row are missing".to_owned(),
        };
        separate(line, start);
        line.style(bad).push(&verdict).style(end);
    }

    fn push_verdict(&self, line: &mut Line, row: &StepRow) {
        let expected = matches!(row.entry.verdict, Verdict::Exact | Verdict::Reconstructed);
        if row.stable.is_some() && expected {
            return; // how a row is known depends on the engine
        }
        line.push(super::names::verdict(row.entry.verdict));
        if let Verdict::Skid(late) = row.entry.verdict {
            line.push(" ").push_decimal(u64::from(late));
        }
    }
}

/// Sets an item off from the one before it in the same cell.
fn separate(line: &mut Line, start: usize) {
    if line.width() > start {
        line.spaces(2);
    }
}

/// Shows the depth of a call.
pub fn push_indent(line: &mut Line, depth: u32) {
    line.spaces(INDENT * depth.min(DEEPEST) as usize);
    if depth > DEEPEST {
        line.push("⋯").push_decimal(u64::from(depth)).push(" ");
    }
}

/// Which way a branch went that was taken and stays in its function.
#[must_use]
pub fn taken(row: &StepRow) -> Option<&'static str> {
    let target = row.code.jump_inside.filter(|target| *target == row.entry.next)?;
    if target == row.entry.address.plus(row.code.length) {
        return None; // the next instruction either way
    }
    Some(if target <= row.entry.address { " ↑" } else { " ↓" })
}
