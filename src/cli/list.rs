//! `overstep list FILE`: a trace as text or JSON Lines.

use std::io;
use std::path::PathBuf;

use clap::Args;

use super::exit::{self, Failure, Outcome};
use super::presentation::Presentation;
use super::stdout;
use crate::record::reader::{ReadError, Trace};

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  overstep list t.ostrace\n  overstep list t.ostrace --format json | jq -r 'select(.type==\"step\").text'\n\n\
                  Not there yet: --source, --collapse-loops, --stable, --check GOLDEN, formats markdown, html and csv."
)]
pub struct Arguments {
    /// A trace, as `trace -o` keeps it
    #[arg(value_name = "FILE.ostrace")]
    file: PathBuf,
    #[command(flatten)]
    presentation: Presentation,
}

pub fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let trace = open(&arguments.file)?;
    stdout::print(exit::USAGE, |out| arguments.presentation.write(&trace, true, out))?;
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
