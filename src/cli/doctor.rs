use super::exit::*;
#[derive(Debug, clap::Args)]
pub struct Arguments {}
pub fn run(_: &Arguments) -> Result<Outcome, Failure> { Err(Failure::new(USAGE, "not yet")) }
