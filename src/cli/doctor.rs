//! `overstep doctor`: what this machine can do, what it cannot, and the remedy.

use clap::Args;

use super::exit::{self, Failure, Outcome};
use super::presentation::Color;
use super::stdout;
use crate::doctor::{self, Facts};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  overstep doctor\n  overstep doctor --json | jq .kernel")]
pub struct Arguments {
    /// The same facts as one JSON object
    #[arg(long)]
    json: bool,
    /// Colour; `auto` means on a terminal, unless NO_COLOR is set
    #[arg(long, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    color: Color,
}

pub fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let facts = Facts::collect();
    stdout::print(exit::USAGE, |out| {
        if arguments.json {
            doctor::json::write(&facts, out)
        } else {
            doctor::text::write(&facts, arguments.color.on_stdout(), out)
        }
    })?;
    Ok(Outcome::Status(exit::HOLDS))
}
