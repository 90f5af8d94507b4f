//! `overstep man`: the manual page, all subcommands in one, for packagers.

use clap::{Args, CommandFactory};
use clap_mangen::Man;

use super::arguments::Overstep;
use super::exit::{self, Failure, Outcome};
use super::stdout;

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  overstep man trace | man -l -")]
pub struct Arguments {
    /// The subcommand to describe; without one, overstep itself
    subcommand: Option<String>,
}

pub fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let mut overstep = Overstep::command();
    overstep.build();
    let described = match &arguments.subcommand {
        None => overstep,
        Some(name) => {
            let unknown = || Failure::new(exit::USAGE, format_args!("there is no subcommand `{name}`"));
            let found = overstep.find_subcommand(name).ok_or_else(unknown)?;
            found.clone()
        }
    };
    stdout::print(exit::USAGE, |out| Man::new(described).render(out))?;
    Ok(Outcome::Status(exit::HOLDS))
}
