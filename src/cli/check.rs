//! `overstep check FILE`: holds a trace against what the CPU had to do, from nothing but the file.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::exit::{self, Failure, Outcome};
use super::{list, stdout};
use crate::check::verify::verify;
use crate::listing::debug_names::add_debug_names;

#[derive(Debug, Args)]
#[command(
    after_help = "Every row is decoded again, its successor computed from the recorded registers and compared with the \
                  row that followed, its address looked up in the ELF file's instruction map.\n\n\
                  Exit status: 0 nothing was found against the trace; 1 something was; 2 it is no trace.\n\n\
                  Example:\n  overstep trace -f gcd -o t.ostrace -- ./a.out 48 18; overstep check t.ostrace"
)]
pub struct Arguments {
    /// A trace, as `trace -o` keeps it
    #[arg(value_name = "FILE.ostrace")]
    file: PathBuf,
    /// Only the exit status
    #[arg(short, long)]
    quiet: bool,
}

pub fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let mut trace = list::open(&arguments.file)?;
    add_debug_names(&mut trace);
    let report = verify(&trace);
    if !arguments.quiet {
        stdout::print(exit::USAGE, |out| writeln!(out, "{report}"))?;
    }
    Ok(Outcome::Status(if report.holds() { exit::HOLDS } else { exit::DOES_NOT_HOLD }))
}
