//! One retired instruction as one line.

use std::collections::HashSet;
use std::rc::Rc;

use super::cells::{Cells, Reader};
use super::column::Column;
use super::layout::Layout;
use super::line::Line;
use super::options::Options;
use super::rows::{Row, StepRow};
use crate::record::reader::Trace;
use crate::record::verdict::Verdict;

/// Writes step rows in the columns of the current call, each in the same buffer.
pub struct StepLines<'t> {
    cells: Cells<'t>,
    columns: Vec<Column>,
    layout: Layout,
    line: Line,
    /// Modules and symbols whose whole names were written already.
    named: HashSet<Rc<str>>,
}

impl<'t> StepLines<'t> {
    #[must_use]
    pub fn new(trace: &'t Trace, options: &Options) -> Self {
        Self {
            cells: Cells::new(trace, options.palette, Reader::Terminal),
            columns: options.columns_or(&Column::TEXT).to_vec(),
            layout: Layout::default(),
            line: Line::default(),
            named: HashSet::new(),
        }
    }

    /// What fills the columns.
    #[must_use]
    pub const fn cells(&self) -> &Cells<'t> {
        &self.cells
    }

    /// Puts the rows that follow into columns that fit `rows`.
    pub fn lay_out<'r>(&mut self, rows: impl Iterator<Item = &'r Row>) {
        self.layout = Layout::fitting(&self.columns, &self.cells, rows);
    }

    /// Where a marker between rows begins.
    #[must_use]
    pub fn marker_column(&self) -> usize {
        self.layout.marker_column()
    }

    /// The headings above a call's rows, with a line feed.
    pub fn heading(&mut self) -> &str {
        let Self { cells, columns, layout, line, .. } = self;
        line.clear();
        line.style(cells.palette.faint);
        for (i, (column, stop)) in columns.iter().zip(&layout.stops).enumerate() {
            let right = i == 0 && *column == Column::Ordinal;
            line.stop(if right { *stop - 1 } else { *stop }).push(column.heading());
        }
        line.style(cells.palette.end);
        line.finish()
    }

    /// The row's line, with a line feed; before it, the whole names of a module and a symbol too long for
    /// their columns, once each.
    pub fn line(&mut self, row: &StepRow) -> &str {
        self.line.clear();
        self.push_whole_names(row);
        let Self { cells, columns, layout, line, .. } = self;
        for (i, (column, stop)) in columns.iter().zip(&layout.stops).enumerate() {
            match column {
                Column::Ordinal => {
                    line.push_decimal_right(row.entry.n, if i == 0 { *stop } else { stop + "n".len() });
                    match row.entry.verdict {
                        Verdict::Exact => {}
                        Verdict::Reconstructed if row.stable.is_some() => {}
                        Verdict::Reconstructed => _ = line.push("~"),
                        _ => _ = line.style(cells.palette.bad).push("!").style(cells.palette.end),
                    }
                }
                column => {
                    line.stop(*stop);
                    cells.push(line, *column, row);
                }
            }
        }
        line.finish()
    }

    fn push_whole_names(&mut self, row: &StepRow) {
        let Self { cells, columns, layout, line, named } = self;
        let names = [(Column::Module, &row.code.long_module), (Column::Symbol, &row.code.long_symbol)];
        for (column, name) in names {
            let Some(name) = name else { continue };
            if !columns.contains(&column) || !named.insert(Rc::clone(name)) {
                continue;
            }
            line.spaces(layout.marker_column()).style(cells.palette.faint).push(name).push(":");
            line.style(cells.palette.end).feed();
        }
    }
}
