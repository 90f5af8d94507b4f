//! How a listing looks: options that `list`, `trace` and `demo` share.

use std::io::{self, Write};
use std::rc::Rc;

use clap::{Args, ValueEnum};

use super::exit::Failure;
use super::stderr;
use crate::check::summary::Summary;
use crate::image::function::nearest_of;
use crate::listing::column::Column;
use crate::listing::debug_names::add_debug_names;
use crate::listing::options::{self, Options};
use crate::listing::palette::Palette;
use crate::listing::source::{Remap, Sources};
use crate::listing::{csv, html, json, markdown, text, text_frame};
use crate::record::reader::Trace;

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Listing")]
pub struct Presentation {
    /// Text for terminals, Markdown for documents, CSV for tables, JSON Lines by the documented contract, HTML to step
    /// through in a browser
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Columns, in this order [default: as the format has them]
    #[arg(long, value_name = "COLUMN,…", value_delimiter = ',', value_parser = column)]
    pub columns: Vec<Column>,
    /// Markdown as tables, or the text listing in a fenced block
    #[arg(long, value_enum, default_value_t = Markdown::Table, value_name = "STYLE")]
    pub markdown: Markdown,
    /// Leave out iterations of loops that repeat the ones before; JSON has them all the same
    #[arg(long)]
    pub collapse_loops: bool,
    /// The same bytes in every run: addresses by region, and ? for what the kernel, a clock or chance decides
    #[arg(long)]
    pub stable: bool,
    /// Head the rows with the source lines they come from, inlined functions too; needs debug information (-g). The column
    /// `source` implies it
    #[arg(long)]
    pub source: bool,
    /// Look for source files of folder FROM in TO
    #[arg(long, value_name = "FROM=TO", requires = "source", value_parser = remap)]
    pub remap: Vec<Remap>,
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
    Markdown,
    Csv,
    Json,
    Html,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Markdown {
    Table,
    Fenced,
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
    /// Whether the options go together; asked before anything is run or read.
    ///
    /// # Errors
    /// `status`, with the options that do not.
    pub fn check(&self, status: u8) -> Result<(), Failure> {
        if !self.columns.is_empty() && self.format == Format::Json {
            return Err(Failure::new(
                status,
                "--columns does not apply to JSON, whose fields are a contract",
            )
            .next("overstep list FILE --format json | jq '{n, text}' picks fields"));
        }
        if self.columns.contains(&Column::Markers) && self.format != Format::Csv {
            return Err(Failure::new(
                status,
                "only CSV has a column of markers; in the other formats each is a row of its own",
            ));
        }
        if self.markdown == Markdown::Fenced && self.format != Format::Markdown {
            return Err(Failure::new(status, "--markdown fenced applies to --format markdown alone")
                .next("add --format markdown, or leave --markdown out"));
        }
        if !self.columns.is_empty() && self.format == Format::Html {
            return Err(Failure::new(
                status,
                "--columns does not apply to HTML, which shows everything there is",
            ));
        }
        Ok(())
    }

    /// A column of source lines wants them, too.
    fn wants_source(&self) -> bool {
        self.source || self.columns.contains(&Column::Source)
    }

    /// How a listing on standard output is to look: that decides about colours. `summary` ends it with one.
    #[must_use]
    pub fn options(&self, trace: &Trace, summary: bool) -> Options {
        Options {
            source: self.wants_source().then(|| Rc::new(Sources::of(trace, &self.remap))),
            syntax: self.syntax.into(),
            palette: self.palette(self.color.on_stdout()),
            summary,
            columns: self.columns.clone(),
            values: if self.stable { options::Values::Stable } else { options::Values::Recorded },
            loops: if self.collapse_loops { options::Loops::Collapsed } else { options::Loops::Whole },
            ..Options::default()
        }
    }

    /// Adds to `trace` the names that only separate debug files have. Not for a stable listing: another machine may have none.
    pub fn complete_names(&self, trace: &mut Trace) {
        if !self.stable {
            add_debug_names(trace);
        }
    }

    /// Lists `trace` in the chosen format; what it has to do without is said on standard error.
    ///
    /// # Errors
    /// Those of writing.
    pub fn write(&self, trace: &Trace, options: &Options, out: &mut impl Write) -> io::Result<Summary> {
        let summary = match (self.format, self.markdown) {
            (Format::Text, _) => text::write(trace, options, out),
            (Format::Markdown, Markdown::Table) => markdown::write_tables(trace, options, out),
            (Format::Markdown, Markdown::Fenced) => markdown::write_fenced(trace, options, out),
            (Format::Csv, _) => csv::write(trace, options, out),
            (Format::Json, _) => json::write(trace, options, out),
            (Format::Html, _) => html::write(trace, options, out),
        };
        out.flush()?;
        let mut notices: Vec<String> = options.source.iter().flat_map(|source| source.notices()).collect();
        if matches!(self.format, Format::Csv | Format::Json) {
            notices.extend(damage(trace)?);
        }
        if self.columns.contains(&Column::Memory) && !trace.header.memory {
            notices.push(
                "the column `memory` is empty: operands were not recorded; trace with --memory".to_owned(),
            );
        }
        notices.iter().for_each(|notice| stderr::say(notice));
        summary
    }

    /// The colours of a stream that is to be coloured, or not.
    pub fn palette(&self, coloured: bool) -> Palette {
        if coloured { Palette::TERMINAL } else { Palette::PLAIN }
    }
}

/// What formats for people say of a damaged file in the listing itself.
pub fn damage(trace: &Trace) -> io::Result<Vec<String>> {
    let mut text = Vec::new();
    text_frame::write_damage(trace, &Palette::PLAIN, &mut text)?;
    Ok(String::from_utf8_lossy(&text).lines().map(str::to_owned).collect())
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

fn remap(text: &str) -> Result<Remap, String> {
    match text.split_once('=') {
        Some((from, to)) if !from.is_empty() => Ok(Remap { from: from.into(), to: to.into() }),
        _ => Err("FROM=TO is wanted: the folder that the compiler saw, and where it is now".to_owned()),
    }
}

fn column(name: &str) -> Result<Column, String> {
    let all = || Column::ALL.into_iter().map(Column::name);
    let found = Column::ALL.into_iter().find(|column| column.name() == name);
    found.ok_or_else(|| {
        // Whoever stops early means the rest, too.
        let begun: Vec<_> = all().filter(|known| !name.is_empty() && known.starts_with(name)).collect();
        let near = if begun.is_empty() { nearest_of(name, all(), 2) } else { begun };
        let near: Vec<_> = near.iter().map(|name| format!("`{name}`")).collect();
        let known = all().collect::<Vec<_>>().join(", ");
        if near.is_empty() {
            format!("there is no such column; there are {known}")
        } else {
            format!("there is no such column; did you mean {}? There are {known}", near.join(" or "))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_their_beginning_and_by_likeness() {
        assert!(column("instr").unwrap_err().contains("did you mean `instruction`?"));
        assert!(column("mem").unwrap_err().contains("did you mean `memory`?"));
        assert!(column("symbl").unwrap_err().contains("did you mean `symbol`?"));
        assert!(!column("zzzzzz").unwrap_err().contains("did you mean"));
        assert_eq!(column("flags"), Ok(Column::Flags));
    }
}
