//! Where a call's columns start, from a look at its first rows.

use super::code::{MODULE_NAME, NAME};
use super::rows::{Row, StepRow};

/// Levels of depth shown by indentation; deeper rows state their depth instead.
pub const DEEPEST: u32 = 8;

/// Columns of indentation per level.
pub const INDENT: usize = 2;

/// Columns for an offset in a module of up to four gigabytes: `+0x18b28f`.
const OFFSET: usize = "+0x12345678".len();

/// Column stops of a row, counted from 0. A cell longer than its column shifts its own line only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// Where the ordinal ends, which is set flush right.
    pub ordinal_end: usize,
    pub module: usize,
    pub symbol: usize,
    pub bytes: usize,
    pub instruction: usize,
    pub changes: usize,
}

impl Columns {
    /// Columns that fit `rows`, each within a width that leaves room for the changes on a 120-column terminal.
    #[must_use]
    pub fn fitting<'r>(rows: impl Iterator<Item = &'r Row>) -> Self {
        let mut module = Width::new(super::step_line::MODULE, MODULE_NAME + OFFSET);
        let mut symbol = Width::new(super::step_line::SYMBOL, NAME);
        let mut bytes = Width::new(super::step_line::BYTES, 16);
        let mut instruction = Width::new(super::step_line::INSTRUCTION, 36);
        for row in rows {
            let Row::Step(row) = row else { continue };
            module.see(&row.code.in_module, 0);
            symbol.see(&row.code.in_symbol, 0);
            bytes.see(&row.code.hex, 0);
            instruction.see(&row.code.cell, beside_text(row));
        }
        const GAP: usize = 2;
        let ordinal_end = 6;
        let module_at = ordinal_end + GAP;
        let symbol_at = module_at + module.seen + GAP;
        let bytes_at = symbol_at + symbol.seen + GAP;
        let instruction_at = bytes_at + bytes.seen + GAP;
        let changes = instruction_at + instruction.seen + GAP;
        Self {
            ordinal_end,
            module: module_at,
            symbol: symbol_at,
            bytes: bytes_at,
            instruction: instruction_at,
            changes,
        }
    }
}

/// Columns that indentation and iterations take beside an instruction's text.
fn beside_text(row: &StepRow) -> usize {
    const TIMES: usize = 2;
    let digits = |number: u64| number.checked_ilog10().map_or(1, |log| log as usize + 1);
    let depth = row.entry.depth;
    let stated = if depth > DEEPEST { 2 + digits(u64::from(depth)) } else { 0 };
    INDENT * depth.min(DEEPEST) as usize + stated + row.entry.count.map_or(0, |count| TIMES + digits(count))
}

/// The widest cell seen that still gets a column of its own width.
struct Width {
    seen: usize,
    most: usize,
}

impl Width {
    fn new(heading: &str, most: usize) -> Self {
        Self { seen: heading.len(), most }
    }

    fn see(&mut self, cell: &str, indent: usize) {
        self.seen = self.seen.max((indent + cell.chars().count()).min(self.most));
    }
}
