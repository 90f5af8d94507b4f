//! `overstep completions SHELL`.

use std::io::Write;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::arguments::Overstep;
use super::exit::{self, Failure, Outcome};
use super::stdout;

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  overstep completions bash > ~/.local/share/bash-completion/completions/overstep"
)]
pub struct Arguments {
    /// The shell to complete for
    #[arg(value_enum)]
    shell: Shell,
}

pub fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    // clap_complete panics when it cannot write: it writes to memory.
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Overstep::command(), "overstep", &mut script);
    stdout::print(exit::USAGE, |out| out.write_all(&script))?;
    Ok(Outcome::Status(exit::HOLDS))
}
