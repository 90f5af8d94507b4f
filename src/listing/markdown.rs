//! Markdown: each call as a table, or the text listing in a fenced block.

use std::collections::HashSet;
use std::io::{self, Write};
use std::rc::Rc;

use super::cells::{Cells, Reader};
use super::column::Column;
use super::folded::Folded;
use super::layout::INDENT;
use super::line::Line;
use super::markdown_text::{push_cell_code, push_code, push_words};
use super::options::{Options, Values};
use super::palette::Palette;
use super::place::Place;
use super::rows::{MarkerRow, Occasion, Row, StepRow};
use super::source_heading::SourceHeadings;
use super::{call_block, hex, markers, text, text_frame};
use crate::check::summary::Summary;
use crate::record::marker::Marker;
use crate::record::reader::Trace;
use crate::registers::{ARGUMENTS, GENERAL_NAMES};

/// Opens and closes a block; no line of a listing is one (rows are indented, and the heading has words).
const FENCE: &str = "````";

/// The text listing as a code block.
///
/// # Errors
/// Those of `out`.
pub fn write_fenced(trace: &Trace, options: &Options, out: &mut impl Write) -> io::Result<Summary> {
    writeln!(out, "{FENCE}text")?;
    let plain = Options { palette: Palette::PLAIN, ..options.clone() };
    let summary = text::write(trace, &plain, out)?;
    writeln!(out, "{FENCE}")?;
    Ok(summary)
}

/// Each call as a table, with its arguments above and its result below.
///
/// # Errors
/// Those of `out`.
pub fn write_tables(trace: &Trace, options: &Options, out: &mut impl Write) -> io::Result<Summary> {
    let mut rows = Folded::new(trace, options);
    let mut tables = Tables {
        trace,
        values: options.values,
        columns: options.columns_or(&Column::DOCUMENT),
        cells: Cells::new(trace, Palette::PLAIN, Reader::Document),
        headings: SourceHeadings::new(options),
        named: HashSet::new(),
        cell: Line::default(),
        line: String::new(),
        call: None,
        table: Table::Closed,
    };
    tables.write_header(out)?;
    for row in rows.by_ref() {
        tables.write(&row, out)?;
    }
    let summary = rows.finish();
    text_frame::write_damage(trace, &Palette::PLAIN, out)?;
    if options.summary {
        let mut text = Vec::new();
        let plain = Options { palette: Palette::PLAIN, ..options.clone() };
        text_frame::write_summary_of(&summary, &plain, &mut text)?;
        let mut line = String::new();
        push_words(&mut line, String::from_utf8_lossy(&text).trim_end());
        writeln!(out, "\n{}", line.replace('\n', "\\\n"))?;
    }
    Ok(summary)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Table {
    Closed,
    Open,
}

struct Tables<'t> {
    trace: &'t Trace,
    values: Values,
    columns: &'t [Column],
    cells: Cells<'t>,
    headings: SourceHeadings,
    /// Names that stand whole in a row of their own.
    named: HashSet<Rc<str>>,
    cell: Line,
    line: String,
    call: Option<u64>,
    table: Table,
}

impl Tables<'_> {
    fn write_header(&mut self, out: &mut impl Write) -> io::Result<()> {
        let (functions, command) = text_frame::subject(self.trace, self.values);
        self.line.clear();
        match (functions.is_empty(), command.is_empty()) {
            (false, false) => {
                push_code(&mut self.line, &functions);
                self.line.push_str(" in ");
                push_code(&mut self.line, &command);
            }
            _ => push_code(&mut self.line, if functions.is_empty() { &command } else { &functions }),
        }
        writeln!(out, "{}", self.line)
    }

    fn write(&mut self, row: &Row, out: &mut impl Write) -> io::Result<()> {
        if self.call != Some(row.call()) {
            self.headings.forget();
            (self.call, self.table) = (Some(row.call()), Table::Closed);
            self.begin_call(row, out)?;
        }
        match row {
            Row::Step(row) => {
                self.open_table(out)?;
                self.write_source(row, out)?;
                self.write_whole_name(row, out)?;
                self.write_step(row, out)
            }
            Row::Fold(row) => {
                self.open_table(out)?;
                self.write_words(&format!("⋮ *{}*", row.fold.text()), out)
            }
            Row::Marker(row) => match &row.occasion {
                Occasion::Recorded(Marker::Enter { .. }) => Ok(()),
                Occasion::Recorded(Marker::Leave { rax, xmm0 }) => {
                    let steps = call_block::steps(row.after);
                    let words = format!("Returned after {} {steps}: ", row.after);
                    self.end_call(&words, &markers::result_of(row, *rax, *xmm0), out)
                }
                Occasion::Discarded { rax, xmm0 } => {
                    let steps = call_block::steps(row.after);
                    let left = "Left without a return (longjmp or unwinding)";
                    let words = format!("{left} after {} {steps}: ", row.after);
                    self.end_call(&words, &markers::result_of(row, *rax, *xmm0), out)
                }
                _ => self.write_marker(row, out),
            },
        }
    }

    fn begin_call(&mut self, first: &Row, out: &mut impl Write) -> io::Result<()> {
        self.line.clear();
        let call = first.call();
        match first {
            Row::Marker(MarkerRow {
                occasion: Occasion::Recorded(Marker::Enter { registers, .. }),
                stable,
                chosen,
                ..
            }) => {
                self.line.push_str(&format!("**Call {call}:** "));
                let place = Place::of(self.trace, registers.rip);
                let chosen = chosen.as_deref().unwrap_or_default();
                push_code(&mut self.line, &(chosen.to_owned() + &place.short(registers.rip)));
                match stable {
                    Some(stable) => self.push_arguments(stable.registers.iter().cloned()),
                    None => {
                        let arguments = ARGUMENTS.map(|index| {
                            let value = registers.general[index];
                            let text =
                                self.cells.string(value).map_or(String::new(), |text| format!(" {text}"));
                            (GENERAL_NAMES[index], hex::hex(value) + &text)
                        });
                        self.push_arguments(arguments.into_iter());
                    }
                }
            }
            _ if call == 0 => return Ok(()),
            _ => self.line.push_str(&format!("**Call {call}:** its beginning is missing from the trace")),
        }
        writeln!(out, "\n{}", self.line)
    }

    fn push_arguments(&mut self, arguments: impl Iterator<Item = (&'static str, String)>) {
        for (i, (name, value)) in arguments.enumerate() {
            self.line.push_str(if i == 0 { " with " } else { ", " });
            push_code(&mut self.line, &format!("{name} {value}"));
        }
    }

    fn end_call(&mut self, words: &str, result: &str, out: &mut impl Write) -> io::Result<()> {
        self.line.clear();
        self.line.push_str(words);
        push_code(&mut self.line, result);
        self.table = Table::Closed;
        writeln!(out, "\n{}", self.line)
    }

    fn open_table(&mut self, out: &mut impl Write) -> io::Result<()> {
        if self.table == Table::Open {
            return Ok(());
        }
        self.table = Table::Open;
        self.line.clear();
        self.line.push_str("\n|");
        for column in self.columns {
            self.line.push_str(&format!(" {} |", column.heading()));
        }
        self.line.push_str("\n|");
        for column in self.columns {
            let number = matches!(column, Column::Ordinal | Column::Call | Column::Thread | Column::Depth);
            self.line.push_str(if number { " --: |" } else { " :-- |" });
        }
        writeln!(out, "{}", self.line)
    }

    fn write_step(&mut self, row: &StepRow, out: &mut impl Write) -> io::Result<()> {
        self.line.clear();
        self.line.push('|');
        for column in self.columns {
            self.line.push(' ');
            self.cell.clear();
            self.cells.push(&mut self.cell, *column, row);
            let text = self.cell.as_str();
            let trimmed = text.trim_start_matches(' ');
            // Spaces at the start of a code span would be lost.
            self.line.extend(std::iter::repeat_n("&emsp;", (text.len() - trimmed.len()) / INDENT));
            match column {
                Column::Ordinal | Column::Call | Column::Thread | Column::Depth => {
                    self.line.push_str(trimmed);
                }
                _ => push_cell_code(&mut self.line, trimmed),
            }
            self.line.push_str(" |");
        }
        writeln!(out, "{}", self.line)
    }

    /// A row for each source line that is new to the reader.
    fn write_source(&mut self, row: &StepRow, out: &mut impl Write) -> io::Result<()> {
        for heading in self.headings.news(row) {
            let mut words = String::from("**");
            push_words(&mut words, &heading.place());
            words.push_str("** ");
            push_cell_code(&mut words, heading.text.as_deref().unwrap_or_default());
            self.write_words(words.trim_end(), out)?;
        }
        Ok(())
    }

    /// A row for a name too long for the cells of its column, once.
    fn write_whole_name(&mut self, row: &StepRow, out: &mut impl Write) -> io::Result<()> {
        let Some(name) = row.code.name_beyond_documents() else { return Ok(()) };
        if !self.columns.contains(&Column::Symbol) || !self.named.insert(Rc::clone(name)) {
            return Ok(());
        }
        let mut words = String::new();
        push_cell_code(&mut words, name);
        self.write_words(&words, out)
    }

    /// A row of the table whose widest cell holds the words.
    fn write_marker(&mut self, row: &MarkerRow, out: &mut impl Write) -> io::Result<()> {
        self.open_table(out)?;
        let mut words = String::from("*");
        push_words(&mut words, &row.text);
        words.push('*');
        self.write_words(&words, out)
    }

    fn write_words(&mut self, words: &str, out: &mut impl Write) -> io::Result<()> {
        let widest = |column: &&Column| matches!(column, Column::Instruction | Column::Changed);
        let place = self.columns.iter().position(|column| widest(&column)).unwrap_or(0);
        self.line.clear();
        self.line.push('|');
        for i in 0..self.columns.len() {
            if i == place {
                self.line.push_str(&format!(" {words} |"));
            } else {
                self.line.push_str(" |");
            }
        }
        writeln!(out, "{}", self.line)
    }
}
