//! From `--engine`, `--delivery` and `--step` to a mechanism that works here.

use super::arguments::{Arguments, Delivery, Engine, Step};
use crate::cli::exit::{Failure, OVERSTEP_FAILED};
use crate::event::choose::{Choice, choose};
use crate::record::control;

/// What was asked for; `None` leaves a part to the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    engine: Option<control::Engine>,
    delivery: Option<control::Delivery>,
}

/// Reads the options.
///
/// # Errors
/// 125: the engine is not there yet, or does not go with `--step`.
pub fn asked(arguments: &Arguments) -> Result<Asked, Failure> {
    let delivery = match arguments.delivery {
        Delivery::Auto => None,
        Delivery::Sigtrap => Some(control::Delivery::Sigtrap),
        Delivery::Fasync => Some(control::Delivery::Fasync),
    };
    Ok(Asked { engine: engine(arguments)?, delivery })
}

/// Finds what works here by trying.
///
/// # Errors
/// 125: nothing that was asked for does; the message says why.
pub fn mechanism(asked: Asked) -> Result<Choice, Failure> {
    choose(asked.engine, asked.delivery).map_err(|error| {
        Failure::new(OVERSTEP_FAILED, error).next("overstep doctor says what works here and what to change")
    })
}

fn engine(arguments: &Arguments) -> Result<Option<control::Engine>, Failure> {
    match (arguments.engine, arguments.step) {
        (Engine::Instructions, _) => Err(Failure::new(
            OVERSTEP_FAILED,
            "the `instructions` engine is not there yet: its signals may come late, and nothing here judges that",
        )
        .next("pass --engine auto, which takes the best that works here")),
        (Engine::TrapFlag, Step::Block) => Err(Failure::new(
            OVERSTEP_FAILED,
            "--step block needs the breakpoint engine: the trap flag stops at every instruction",
        )
        .next("pass --engine breakpoint, or leave --step off")),
        (Engine::TrapFlag, Step::Instruction) => Ok(Some(control::Engine::TrapFlag)),
        (Engine::Breakpoint, _) | (Engine::Auto, Step::Block) => Ok(Some(control::Engine::Breakpoint)),
        (Engine::Auto, Step::Instruction) => Ok(None),
    }
}
