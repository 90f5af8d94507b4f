//! `overstep list FILE`: a trace in every format.

use std::io;
use std::path::PathBuf;

use clap::Args;

use super::exit::{self, Failure, Outcome};
use super::golden;
use super::presentation::Presentation;
use super::selection::Selection;
use super::{stderr, stdout};
use crate::listing::options::Options;
use crate::listing::palette::Palette;
use crate::listing::unselected::unselected;
use crate::record::reader::{ReadError, Trace};

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// A trace, as `trace -o` keeps it
    #[arg(value_name = "FILE.ostrace")]
    file: PathBuf,
    #[command(flatten)]
    presentation: Presentation,
    #[command(flatten)]
    selection: Selection,
    /// Print nothing if the listing is that of GOLDEN; otherwise what differs, and exit with 1
    #[arg(long, value_name = "GOLDEN", help_heading = "Listing")]
    check: Option<PathBuf>,
}

const AFTER_HELP: &str = "\
Examples:
  overstep list t.ostrace --range 10..50
  overstep list t.ostrace --format markdown --columns n,instruction,registers
  overstep list t.ostrace --source --collapse-loops
  overstep list t.ostrace --format html --source > t.html         to step through in a browser
  overstep list t.ostrace --only calls --depth 0..2
  overstep list t.ostrace --format json | jq -r 'select(.type==\"step\").text'

Documentation: keep a listing that every run repeats, and have CI compare it
  overstep list t.ostrace --stable --format markdown > docs/gcd.md
  overstep list t.ostrace --stable --format markdown --check docs/gcd.md

Exit status: 0 listed, or as GOLDEN; 1 not as GOLDEN; 2 used wrongly, or unable to answer.";

pub fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let presentation = &arguments.presentation;
    presentation.check(exit::USAGE)?;
    let mut trace = open(&arguments.file)?;
    presentation.complete_names(&mut trace);
    let options = Options { selection: (&arguments.selection).into(), ..presentation.options(&trace, true) };
    if let Some(notice) = unselected(&trace, &options) {
        stderr::say(&notice);
    }
    if let Some(path) = &arguments.check {
        return golden::check(path, |out| {
            presentation.write(&trace, &Options { palette: Palette::PLAIN, ..options }, out)
        });
    }
    stdout::print(exit::USAGE, |out| presentation.write(&trace, &options, out))?;
    Ok(Outcome::Status(exit::HOLDS))
}

/// Opens a trace for `list` and `check`.
///
/// # Errors
/// The file is missing, no trace, of a newer version, or damaged in its header.
pub fn open(file: &PathBuf) -> Result<Trace, Failure> {
    Trace::open(file).map_err(|error| match error {
        ReadError::Io { path, source } if source.kind() == io::ErrorKind::NotFound => {
            Failure::new(exit::USAGE, format_args!("there is no file `{}`", path.display()))
                .next("record one: overstep trace -f FUNCTION -o FILE.ostrace -- PROGRAM")
        }
        // The reader's other messages name the cause and the next command, but not the file.
        ReadError::Io { .. } => Failure::new(exit::USAGE, error),
        _ => Failure::new(exit::USAGE, format_args!("`{}`: {error}", file.display())),
    })
}
