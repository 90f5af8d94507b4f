//! The listing for a terminal: what was traced, each call with its rows, and what it all comes to.

use std::collections::VecDeque;
use std::io::{self, Write};

use super::call_block;
use super::folded::Folded;
use super::line::Line;
use super::markers;
use super::options::Options;
use super::palette::Palette;
use super::rows::{Occasion, Row};
use super::source_heading::SourceHeadings;
use super::step_line::StepLines;
use super::text_frame;
use crate::check::summary::Summary;
use crate::record::marker::Marker;
use crate::record::reader::Trace;

/// Rows held back to lay out the columns that they will stand in.
const AHEAD: usize = 256;

/// Writes the whole listing and returns what it comes to.
///
/// The trace is read once and a fixed number of rows is held, so that a long listing starts at once and needs
/// no memory of its length.
///
/// # Errors
/// Those of `out` alone; what is damaged in the trace is said in the listing.
pub fn write(trace: &Trace, options: &Options, out: &mut impl Write) -> io::Result<Summary> {
    text_frame::write_header(trace, options, out)?;
    let mut rows = Folded::new(trace, options);
    let mut ahead: VecDeque<Row> = rows.by_ref().take(AHEAD).collect();
    let mut writer = CallWriter {
        trace,
        options,
        steps: StepLines::new(trace, options),
        headings: SourceHeadings::new(options),
        call: None,
    };
    while let Some(row) = ahead.pop_front() {
        if writer.call != Some(row.call()) {
            writer.begin(&row, &ahead, out)?;
        }
        writer.write(&row, out)?;
        ahead.extend(rows.next());
    }
    let summary = rows.finish();
    text_frame::write_damage(trace, &options.palette, out)?;
    if options.summary {
        writeln!(out)?;
        text_frame::write_summary_of(&summary, options, out)?;
    }
    Ok(summary)
}

/// Writes rows, and what stands before and after each call's.
struct CallWriter<'t> {
    trace: &'t Trace,
    options: &'t Options,
    steps: StepLines<'t>,
    headings: SourceHeadings,
    /// The call being written.
    call: Option<u64>,
}

impl CallWriter<'_> {
    fn palette(&self) -> &Palette {
        &self.options.palette
    }

    fn begin(&mut self, first: &Row, ahead: &VecDeque<Row>, out: &mut impl Write) -> io::Result<()> {
        let number = first.call();
        let own = std::iter::once(first).chain(ahead.iter().take_while(|row| row.call() == number));
        self.steps.lay_out(own);
        self.call = Some(number);
        self.headings.forget();
        let entered = matches!(first, Row::Marker(row) if matches!(row.occasion, Occasion::Recorded(Marker::Enter { .. })));
        writeln!(out)?;
        if number > 0 && !entered {
            call_block::write_without_entry(number, self.palette(), out)?;
            out.write_all(self.steps.heading().as_bytes())?;
        }
        Ok(())
    }

    fn write(&mut self, row: &Row, out: &mut impl Write) -> io::Result<()> {
        match row {
            Row::Step(row) => {
                out.write_all(self.headings.above(row, self.steps.marker_column()).as_bytes())?;
                out.write_all(self.steps.line(row).as_bytes())
            }
            Row::Fold(row) => {
                let mut line = Line::default();
                line.spaces(self.steps.marker_column()).style(self.options.palette.marker).push("⋮  ");
                line.push(&row.fold.text()).style(self.options.palette.end);
                writeln!(out, "{}", line.as_str())
            }
            Row::Marker(row) => {
                let rows = row.after;
                let palette = &self.options.palette;
                match &row.occasion {
                    Occasion::Recorded(Marker::Enter { registers, .. }) => {
                        call_block::write_entry(self.trace, row, registers, self.steps.cells(), out)?;
                        out.write_all(self.steps.heading().as_bytes())
                    }
                    Occasion::Recorded(Marker::Leave { rax, xmm0 }) => {
                        call_block::write_return(rows, &markers::result_of(row, *rax, *xmm0), palette, out)
                    }
                    Occasion::Discarded { rax, xmm0 } => {
                        call_block::write_discarded(rows, &markers::result_of(row, *rax, *xmm0), palette, out)
                    }
                    occasion => {
                        let bad = row.kind == "lost" || matches!(occasion, Occasion::CutOff(_));
                        let style = if bad { palette.bad } else { palette.marker };
                        let mut line = Line::default();
                        line.spaces(self.steps.marker_column()).style(style).push("── ").push(&row.text);
                        if matches!(occasion, Occasion::Recorded(Marker::Exit { .. } | Marker::Exec)) {
                            line.push("; the trace ends here");
                        }
                        line.style(palette.end);
                        writeln!(out, "{}", line.as_str())
                    }
                }
            }
        }
    }
}
