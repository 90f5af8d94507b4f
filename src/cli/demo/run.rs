//! Traces one of the built-in functions with the library's `Tracer`.

use std::hint::black_box;

use clap::{Args, ValueEnum};

use super::functions;
use crate::cli::exit::{DOES_NOT_HOLD, Failure, HOLDS, Outcome, USAGE};
use crate::cli::presentation::Presentation;
use crate::cli::stdout;
use crate::session::tracer::Tracer;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  overstep demo\n  overstep demo fibonacci --syntax gas\n\n\
                        Exit status: 0 every step came as expected; 1 not; 2 nothing could be traced.")]
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

impl Function {
    /// Its code, and a call of it with arguments that make a listing of readable length.
    fn entry_and_call(self) -> (*const (), fn() -> u64) {
        match self {
            Self::Gcd => (functions::gcd as *const (), || functions::gcd(black_box(48), black_box(18))),
            Self::Fibonacci => (functions::fibonacci as *const (), || functions::fibonacci(black_box(5))),
            Self::Collatz => (functions::collatz as *const (), || functions::collatz(black_box(6))),
        }
    }
}

pub fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let presentation = &arguments.presentation;
    presentation.check(USAGE)?;
    let (entry, call) = arguments.function.entry_and_call();
    let (_value, recorded) = Tracer::new().function(entry).trace(call).map_err(|error| {
        Failure::new(USAGE, error).next("overstep doctor says what works here and what to change")
    })?;
    let trace = recorded.trace();
    stdout::print(USAGE, |out| presentation.write(trace, &presentation.options(trace, true), out))?;
    Ok(Outcome::Status(if recorded.summary().all_expected() { HOLDS } else { DOES_NOT_HOLD }))
}
