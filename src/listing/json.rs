//! JSON Lines by the contract of `docs/trace.schema.json`: a header, rows and markers, a summary. With stable values the
//! lines are those of `#/$defs/stable` there.

use std::io::{self, Write};

use serde::Serialize;

use super::json_lines::{HeaderLine, MarkerLine, SummaryLine};
use super::json_registers::RegisterStates;
use super::json_stable::{StableHeaderLine, StableSummaryLine};
use super::json_step::StepLine;
use super::options::{Options, Values};
use super::rows::Row;
use super::shown::Shown;
use crate::check::summary::Summary;
use crate::record::reader::Trace;

/// The contract's version: fields may be added under it, none renamed or removed.
pub const VERSION: u32 = 1;

/// Writes what the options select, one object a line, and returns what the whole trace comes to. The summary is the
/// whole trace's, and loops are never collapsed.
///
/// # Errors
/// Those of `out`.
pub fn write(trace: &Trace, options: &Options, out: &mut impl Write) -> io::Result<Summary> {
    let mut out = Lines { out, buffer: Vec::new() };
    match options.values {
        Values::Recorded => out.put(&HeaderLine::new(trace))?,
        Values::Stable => out.put(&StableHeaderLine::new(trace))?,
    }
    let mut rows = Shown::new(trace, options);
    let mut states = RegisterStates::default();
    for row in rows.by_ref() {
        match row {
            Row::Step(row) => {
                let unseen = states.step(&row);
                out.put(&StepLine::new(&row, unseen, trace.header.memory))?;
            }
            Row::Marker(row) => {
                states.marker(&row);
                out.put(&MarkerLine::new(&row))?;
            }
            Row::Fold(_) => {}
        }
    }
    let summary = rows.finish();
    match options.values {
        Values::Recorded => out.put(&SummaryLine::new(&summary, trace))?,
        Values::Stable => out.put(&StableSummaryLine::new(&summary, trace))?,
    }
    Ok(summary)
}

/// Objects, each handed on whole, so that a reader at the other end of a pipe sees no half line.
struct Lines<'w, W> {
    out: &'w mut W,
    buffer: Vec<u8>,
}

impl<W: Write> Lines<'_, W> {
    fn put(&mut self, object: &impl Serialize) -> io::Result<()> {
        self.buffer.clear();
        serde_json::to_writer(&mut self.buffer, object)?;
        self.buffer.push(b'\n');
        self.out.write_all(&self.buffer)
    }
}
