//! Comma-separated values (RFC 4180, lines ended by a line feed): a header, then a record per step.
//!
//! What happened between two steps stands in the field `markers` of the later one, which is the last unless columns were
//! chosen with it among them. What came after a call's last
//! step has a record of its own, in which only the call, the thread and the markers are filled in.

use std::io::{self, Write};

use super::cells::{Cells, Reader};
use super::column::Column;
use super::folded::Folded;
use super::line::Line;
use super::options::Options;
use super::palette::Palette;
use super::rows::{Row, StepRow};
use crate::check::summary::Summary;
use crate::record::reader::Trace;

/// Between two markers of one field.
const BETWEEN: &str = "; ";

/// Writes the records and returns what the whole trace comes to.
///
/// # Errors
/// Those of `out`.
pub fn write(trace: &Trace, options: &Options, out: &mut impl Write) -> io::Result<Summary> {
    let mut rows = Folded::new(trace, options);
    let mut records = Records {
        columns: columns(options),
        cells: Cells::new(trace, Palette::PLAIN, Reader::Program),
        cell: Line::default(),
        record: String::new(),
        markers: String::new(),
        waiting: None,
        thread: 0,
    };
    records.write_header(out)?;
    for row in rows.by_ref() {
        match row {
            Row::Step(row) => {
                records.write_rest(Some(row.entry.call), out)?;
                records.write_step(&row, out)?;
            }
            Row::Marker(row) => {
                records.write_rest(Some(row.call), out)?;
                records.hold(&row.text, row.call, row.thread());
            }
            Row::Fold(row) => {
                let thread = records.waiting.map_or(records.thread, |(_, thread)| thread);
                records.hold(&row.fold.text(), row.call, thread);
            }
        }
    }
    records.write_rest(None, out)?;
    Ok(rows.finish())
}

/// With source lines, where those are wanted, behind the symbol.
fn columns(options: &Options) -> Vec<Column> {
    let mut columns = options.columns_or(&Column::TABLE).to_vec();
    if options.source.is_some() && options.columns.is_empty() {
        let symbol = columns.iter().position(|column| *column == Column::Symbol);
        columns.insert(symbol.map_or(0, |at| at + 1), Column::Source);
    }
    if !columns.contains(&Column::Markers) {
        columns.push(Column::Markers);
    }
    columns
}

struct Records<'t> {
    columns: Vec<Column>,
    cells: Cells<'t>,
    cell: Line,
    record: String,
    /// What happened since the last step.
    markers: String,
    /// The call and thread that the markers belong to.
    waiting: Option<(u64, u64)>,
    /// The thread of the last step.
    thread: u64,
}

impl Records<'_> {
    fn write_header(&mut self, out: &mut impl Write) -> io::Result<()> {
        self.record.clear();
        for (i, column) in self.columns.iter().enumerate() {
            self.record.push_str(if i == 0 { "" } else { "," });
            self.record.push_str(column.name());
        }
        writeln!(out, "{}", self.record)
    }

    fn hold(&mut self, words: &str, call: u64, thread: u64) {
        if !self.markers.is_empty() {
            self.markers.push_str(BETWEEN);
        }
        self.markers.push_str(words);
        self.waiting = Some((call, thread));
    }

    /// A record of markers alone, where the call that they belong to has no further step.
    fn write_rest(&mut self, next: Option<u64>, out: &mut impl Write) -> io::Result<()> {
        let Some((call, thread)) = self.waiting.filter(|waiting| next != Some(waiting.0)) else {
            return Ok(());
        };
        self.record.clear();
        for (i, column) in self.columns.iter().enumerate() {
            self.record.push_str(if i == 0 { "" } else { "," });
            match column {
                Column::Call => self.record.push_str(&call.to_string()),
                Column::Thread => self.record.push_str(&thread.to_string()),
                Column::Markers => push_field(&mut self.record, &self.markers),
                _ => {}
            }
        }
        self.end_record(out)
    }

    fn write_step(&mut self, row: &StepRow, out: &mut impl Write) -> io::Result<()> {
        self.thread = row.thread();
        self.record.clear();
        for (i, column) in self.columns.iter().enumerate() {
            self.record.push_str(if i == 0 { "" } else { "," });
            if *column == Column::Markers {
                push_field(&mut self.record, &self.markers);
                continue;
            }
            self.cell.clear();
            self.cells.push(&mut self.cell, *column, row);
            push_field(&mut self.record, self.cell.as_str());
        }
        self.end_record(out)
    }

    fn end_record(&mut self, out: &mut impl Write) -> io::Result<()> {
        self.record.push('\n');
        self.markers.clear();
        self.waiting = None;
        out.write_all(self.record.as_bytes())
    }
}

/// Appends a field, quoted where RFC 4180 asks for it.
fn push_field(record: &mut String, field: &str) {
    if !field.contains([',', '"', '\n', '\r']) {
        record.push_str(field);
        return;
    }
    record.push('"');
    record.push_str(&field.replace('"', "\"\""));
    record.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        let field = |text| {
            let mut record = String::new();
            push_field(&mut record, text);
            record
        };
        assert_eq!(field("mov eax"), "mov eax");
        assert_eq!(field("mov eax,edi"), "\"mov eax,edi\"");
        assert_eq!(field("say \"a\""), "\"say \"\"a\"\"\"");
        assert_eq!(field("two\nlines"), "\"two\nlines\"");
    }
}
