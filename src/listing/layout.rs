//! Where a call's columns start, from a look at its first rows.

use super::cells::{Cells, Reader, taken};
use super::column::Column;
use super::line::Line;
use super::rows::{Row, StepRow};

/// Levels of depth shown by indentation; deeper rows state their depth instead.
pub const DEEPEST: u32 = 8;

/// Columns of indentation per level.
pub const INDENT: usize = 2;

/// Columns between two columns.
const GAP: usize = 2;

/// Where the digits of a number end that starts a line, set flush right.
pub const ORDINAL_END: usize = 6;

/// Column stops of a row, counted from 0. A cell longer than its column shifts its own line only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Where each column starts; of a number that starts the line, where it ends.
    pub stops: Vec<usize>,
}

impl Layout {
    /// A layout that fits `rows`, each column within a width that leaves room for the last one on a 120-column
    /// terminal.
    #[must_use]
    pub fn fitting<'r>(columns: &[Column], cells: &Cells<'_>, rows: impl Iterator<Item = &'r Row>) -> Self {
        let mut widths: Vec<usize> = columns.iter().map(|column| column.heading().chars().count()).collect();
        let mut scratch = Line::default();
        for row in rows {
            let Row::Step(row) = row else { continue };
            // Nothing stands behind the last column.
            for (column, width) in columns.iter().zip(&mut widths).rev().skip(1) {
                let own = width_of(*column, cells, row, &mut scratch).min(column.most());
                *width = (*width).max(own);
            }
        }
        let mut stops = Vec::with_capacity(columns.len());
        let mut at = 0;
        for (i, (column, width)) in columns.iter().zip(widths).enumerate() {
            if i == 0 && *column == Column::Ordinal {
                stops.push(ORDINAL_END);
                at = ORDINAL_END + GAP;
            } else {
                stops.push(at);
                at += width + GAP;
            }
        }
        Self { stops }
    }

    /// Where what is no row begins.
    #[must_use]
    pub fn marker_column(&self) -> usize {
        self.stops.get(1).copied().unwrap_or(0).min(ORDINAL_END + GAP)
    }
}

fn width_of(column: Column, cells: &Cells<'_>, row: &StepRow, scratch: &mut Line) -> usize {
    // The usual columns are only looked at: a listing of short calls lays out as many rows as it writes.
    let plain = cells.reader() == Reader::Terminal && row.stable.is_none();
    match column {
        Column::Ordinal => return 0,
        Column::Module if plain => return row.code.in_module.chars().count(),
        Column::Symbol if plain => return row.code.in_symbol.chars().count(),
        Column::Bytes => return row.code.hex.len(),
        Column::Instruction if plain && row.entry.count.is_none() && row.entry.depth <= DEEPEST => {
            let arrow = taken(row).map_or(0, |arrow| arrow.chars().count());
            return INDENT * row.entry.depth as usize + row.code.cell.chars().count() + arrow;
        }
        _ => {}
    }
    scratch.clear();
    cells.push(scratch, column, row);
    scratch.width()
}
