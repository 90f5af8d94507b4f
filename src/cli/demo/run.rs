//! Traces one of the built-in functions with the library's `Tracer`.

use clap::{Args, ValueEnum};

use crate::cli::exit::{DOES_NOT_HOLD, Failure, Outcome};
use crate::cli::presentation::Presentation;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  overstep demo\n  overstep demo fibonacci --syntax gas")]
pub struct Arguments {
    /// The function to trace
    #[arg(value_enum, default_value_t = Function::Gcd)]
    function: Function,
    #[command(flatten)]
    presentation: Presentation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Function {
    /// gcd(48, 18): a loop with a division
    Gcd,
    /// fibonacci(5): recursion
    Fibonacci,
    /// collatz(6): branches that depend on data
    Collatz,
}

pub fn run(_arguments: &Arguments) -> Result<Outcome, Failure> {
    Err(Failure::new(DOES_NOT_HOLD, "not yet"))
}
