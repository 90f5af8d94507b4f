//! How a listing looks: options that `list`, `trace` and `demo` share.

use std::io::{self, Write};

use clap::{Args, ValueEnum};

use crate::check::summary::Summary;
use crate::listing::options::{self, Options};
use crate::listing::palette::Palette;
use crate::listing::{json, text};
use crate::record::reader::Trace;

#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Listing")]
pub struct Presentation {
    /// Text for people, or JSON Lines by the documented contract
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// The assembler's syntax in the text column
    #[arg(long, value_enum, default_value_t = Syntax::Intel)]
    pub syntax: Syntax,
    /// Colour; `auto` means on a terminal, unless NO_COLOR is set
    #[arg(long, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub color: Color,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Text,
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Syntax {
    Intel,
    Gas,
    Nasm,
    Masm,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    Auto,
    Always,
    Never,
}

impl Color {
    /// Whether standard output is to be coloured.
    pub fn on_stdout(self) -> bool {
        self.wanted(|| anstream::AutoStream::choice(&io::stdout()))
    }

    /// Whether standard error is to be coloured.
    pub fn on_stderr(self) -> bool {
        self.wanted(|| anstream::AutoStream::choice(&io::stderr()))
    }

    fn wanted(self, by_environment: impl FnOnce() -> anstream::ColorChoice) -> bool {
        match self {
            Self::Auto => by_environment() != anstream::ColorChoice::Never,
            Self::Always => true,
            Self::Never => false,
        }
    }
}

impl Presentation {
    /// Lists `trace` on standard output, which `out` must be: it decides about colours. `summary` ends a text
    /// listing with one.
    ///
    /// # Errors
    /// Those of writing.
    pub fn write(&self, trace: &Trace, summary: bool, out: &mut impl Write) -> io::Result<Summary> {
        let palette = self.palette(self.color.on_stdout());
        let options = Options { syntax: self.syntax.into(), palette, summary };
        match self.format {
            Format::Text => text::write(trace, &options, out),
            Format::Json => json::write(trace, &options, out),
        }
    }

    /// The colours of a stream that is to be coloured, or not.
    pub fn palette(&self, coloured: bool) -> Palette {
        if coloured { Palette::TERMINAL } else { Palette::PLAIN }
    }
}

impl From<Syntax> for options::Syntax {
    fn from(syntax: Syntax) -> Self {
        match syntax {
            Syntax::Intel => Self::Intel,
            Syntax::Gas => Self::Gas,
            Syntax::Nasm => Self::Nasm,
            Syntax::Masm => Self::Masm,
        }
    }
}
