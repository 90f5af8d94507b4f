//! A comparison in words.

use std::io::{self, Write};

use super::divergence::{Comparison, Divergence, Meeting, What};
use super::item::Item;
use crate::listing::cells::{Cells, Reader};
use crate::listing::column::Column;
use crate::listing::layout::Layout;
use crate::listing::line::Line;
use crate::listing::palette::Palette;
use crate::listing::rows::Row;
use crate::record::reader::Trace;

const COLUMNS: [Column; 4] = [Column::Ordinal, Column::Symbol, Column::Instruction, Column::Changed];

/// Differences of one row that are named.
const NAMED: usize = 8;

/// Writes what differs, or that nothing does.
///
/// # Errors
/// Those of `out`.
pub fn write(
    result: &Comparison,
    a: &Trace,
    b: &Trace,
    palette: Palette,
    out: &mut impl Write,
) -> io::Result<()> {
    let Comparison { common, different, only_a, only_b, .. } = result;
    let Some(divergence) = &result.divergence else {
        let Palette { good, end, .. } = palette;
        return writeln!(out, "{good}the same{end}: {common} steps, no difference");
    };
    write_divergence("first difference", divergence, a, b, palette, out)?;
    if let Some(parting) = &result.parting {
        write_divergence("the paths part", parting, a, b, palette, out)?;
    }
    write_outcome(result, out)?;
    writeln!(
        out,
        "{common} steps in both, {different} of them with other values; {only_a} in A alone, {only_b} in B alone"
    )
}

fn write_divergence(
    title: &str,
    divergence: &Divergence,
    a: &Trace,
    b: &Trace,
    palette: Palette,
    out: &mut impl Write,
) -> io::Result<()> {
    let Palette { bad, good, faint, end, .. } = palette;
    let what = match &divergence.what[..] {
        [What::Path] => "control goes another way".to_owned(),
        [What::Ends { side, why }] => format!("{side} ends: {why}"),
        _ => "other values".to_owned(),
    };
    let place = |items: &[Item]| items.first().map_or("at its end".to_owned(), place);
    writeln!(out, "{title}: {what}; A {}, B {}", place(&divergence.a), place(&divergence.b))?;
    let (cells_a, cells_b) =
        (Cells::new(a, palette, Reader::Terminal), Cells::new(b, palette, Reader::Terminal));
    let rows = [&divergence.before, &divergence.a, &divergence.b];
    let layout = Layout::fitting(&COLUMNS, &cells_a, rows.into_iter().flatten().map(|item| &item.0));
    let mut write = |items: &[Item], cells: &Cells<'_>, mark: &str, style: &str| {
        items
            .iter()
            .try_for_each(|item| writeln!(out, "{style}{mark}{end} {}", line(item, cells, &layout, palette)))
    };
    write(&divergence.before, &cells_a, " ", faint)?;
    write(&divergence.a, &cells_a, "A", bad)?;
    write(&divergence.b, &cells_b, "B", good)?;
    for what in divergence.what.iter().take(NAMED) {
        let (name, a, b) = match what {
            What::Path | What::Ends { .. } => continue,
            What::Register { name, a, b } => (*name, a, b),
            What::Memory { a, b } => ("memory", a, b),
            What::Arguments { a, b } => ("system call", a, b),
            What::Answer { a, b } => ("its result", a, b),
            // Both stand above already.
            What::Words { .. } => continue,
        };
        writeln!(out, "  {name}: {a} in A, {b} in B")?;
    }
    Ok(())
}

/// Whether the traces come together again, and from where on for good.
fn write_outcome(result: &Comparison, out: &mut impl Write) -> io::Result<()> {
    match (&result.rejoined, result.parts()) {
        (Some(meeting), _) => write_meeting("the paths meet again", meeting, "", out)?,
        (None, Some(parting)) => {
            // One that ends goes nowhere.
            return if parting.what == [What::Path] {
                writeln!(out, "the paths do not meet again")
            } else {
                Ok(())
            };
        }
        (None, None) => writeln!(out, "the paths do not part")?,
    }
    match &result.agreed {
        Some(meeting) => {
            write_meeting("nothing differs any more", meeting, " than the first difference", out)
        }
        None => writeln!(out, "they differ to the end"),
    }
}

fn write_meeting(title: &str, meeting: &Meeting, than: &str, out: &mut impl Write) -> io::Result<()> {
    let Meeting { a, b, passed_a, passed_b } = meeting;
    writeln!(
        out,
        "{title} from A {} and B {} on, {passed_a} and {passed_b} rows later{than}",
        place(a),
        place(b)
    )
}

fn place(item: &Item) -> String {
    match &item.0 {
        Row::Step(row) => format!("call {} row {}", row.entry.call, row.entry.n),
        Row::Marker(row) if row.after == 0 => format!("call {} at its start", row.call),
        Row::Marker(row) => format!("call {} after row {}", row.call, row.after),
        Row::Fold(row) => format!("call {}", row.call),
    }
}

fn line(item: &Item, cells: &Cells<'_>, layout: &Layout, palette: Palette) -> String {
    let mut line = Line::default();
    match &item.0 {
        Row::Step(row) => {
            for (column, stop) in COLUMNS.iter().zip(&layout.stops) {
                match column {
                    Column::Ordinal => _ = line.push_decimal_right(row.entry.n, *stop),
                    column => {
                        line.stop(*stop);
                        cells.push(&mut line, *column, row);
                    }
                }
            }
        }
        Row::Marker(row) => {
            line.spaces(layout.marker_column()).style(palette.marker).push("── ").push(&row.text);
            line.style(palette.end);
        }
        Row::Fold(row) => _ = line.push(&row.fold.text()),
    }
    line.finish().trim_end().to_owned()
}
