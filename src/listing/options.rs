//! How a listing is to look.

use super::palette::Palette;

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

/// Choices of presentation; none of them changes what a row says.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub syntax: Syntax,
    /// Terminal colours; [`Palette::PLAIN`] by default.
    pub palette: Palette,
    /// End a text listing with its summary; off where the summary goes elsewhere.
    pub summary: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { syntax: Syntax::Intel, palette: Palette::PLAIN, summary: true }
    }
}
