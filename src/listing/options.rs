//! How a listing is to look.

use std::rc::Rc;

use super::column::Column;
use super::palette::Palette;
use super::selection::Selection;
use super::source::Sources;

/// The assembler dialect of a row's disassembly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Syntax {
    #[default]
    Intel,
    /// AT&T, as the GNU assembler has it.
    Gas,
    Nasm,
    Masm,
}

impl Syntax {
    /// Every dialect by the name the command line knows it by.
    pub const NAMES: [(&'static str, Self); 4] =
        [("intel", Self::Intel), ("gas", Self::Gas), ("nasm", Self::Nasm), ("masm", Self::Masm)];
}

/// What becomes of repeated iterations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Loops {
    #[default]
    Whole,
    /// The first, how many, and the last.
    Collapsed,
}

/// Which values a listing shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Values {
    /// Those that were recorded.
    #[default]
    Recorded,
    /// Those that another run would show, too.
    Stable,
}

/// Choices of presentation; none of them changes what a row says.
#[derive(Clone, Debug)]
pub struct Options {
    pub syntax: Syntax,
    /// Terminal colours; [`Palette::PLAIN`] by default.
    pub palette: Palette,
    /// End a text listing with its summary; off where the summary goes elsewhere.
    pub summary: bool,
    /// Which columns, in this order; the format's own choice where empty.
    pub columns: Vec<Column>,
    pub selection: Selection,
    /// Whether iterations are left out that repeat the ones before.
    pub loops: Loops,
    pub values: Values,
    /// Source lines, where they are wanted.
    pub source: Option<Rc<Sources>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            syntax: Syntax::Intel,
            palette: Palette::PLAIN,
            summary: true,
            columns: Vec::new(),
            selection: Selection::default(),
            loops: Loops::Whole,
            values: Values::Recorded,
            source: None,
        }
    }
}

impl Options {
    /// The columns asked for, or `usual`.
    #[must_use]
    pub fn columns_or<'a>(&'a self, usual: &'a [Column]) -> &'a [Column] {
        if self.columns.is_empty() { usual } else { &self.columns }
    }
}
