//! From `--engine`, `--delivery` and `--step` to a mechanism that works here.

use super::arguments::{Arguments, Delivery, Engine, Step};
use crate::cli::exit::{Failure, OVERSTEP_FAILED};
use crate::event::attr::Counted;
use crate::event::choose::{Choice, choose};
use crate::event::probe::calibrate::calibrate;
use crate::record::calibration::Calibration;
use crate::record::control;

/// What was asked for; `None` leaves a part to the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    engine: Option<control::Engine>,
    delivery: Option<control::Delivery>,
    /// Instructions from stop to stop, of the `instructions` engine.
    period: u64,
}

/// What was found to work.
#[derive(Debug)]
pub struct Mechanism {
    pub choice: Choice,
    /// Of the `instructions` engine.
    pub calibration: Option<Calibration>,
}

impl Mechanism {
    /// What the user should know, a line each.
    pub fn notices(&self) -> impl Iterator<Item = String> {
        self.choice.notices.iter().cloned().chain(self.calibration.as_ref().map(about_counter))
    }
}

/// What the counter is like, in one line.
fn about_counter(found: &Calibration) -> String {
    let Calibration { tail, period, progress, .. } = found;
    let wanted = period - tail;
    let steps: u32 = progress.iter().map(|(_, times)| times).sum();
    let right = progress.iter().find(|(by, _)| *by == wanted).map_or(0, |(_, times)| *times);
    let others = progress.iter().filter(|(by, _)| *by != wanted);
    let others: Vec<_> = others.map(|(by, times)| format!("{by} in {times}")).collect();
    let others = if others.is_empty() { String::new() } else { format!(" (instead: {})", others.join(", ")) };
    format!(
        "counter: handler tail {tail}, period {period}; calibration went {wanted} on in {right} of {steps} steps{others}"
    )
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
    let engine = engine(arguments)?;
    if arguments.period.is_some() && engine != Some(control::Engine::Instructions) {
        return Err(Failure::new(
            OVERSTEP_FAILED,
            "--period is of the instructions engine: the others stop everywhere",
        )
        .next("pass --engine instructions, or leave --period off"));
    }
    Ok(Asked { engine, delivery, period: arguments.period.unwrap_or(1) })
}

/// Finds what works here by trying.
///
/// # Errors
/// 125: nothing that was asked for does; the message says why.
pub fn mechanism(asked: Asked) -> Result<Mechanism, Failure> {
    let choice = choose(asked.engine, asked.delivery).map_err(|error| {
        Failure::new(OVERSTEP_FAILED, error).next("overstep doctor says what works here and what to change")
    })?;
    if choice.engine != control::Engine::Instructions {
        return Ok(Mechanism { choice, calibration: None });
    }
    let calibration = calibrate(Counted::Instructions, choice.delivery, asked.period).map_err(|failure| {
        let failed = format_args!("the instruction counter cannot be calibrated: {failure}");
        Failure::new(OVERSTEP_FAILED, failed).next(failure.remedy())
    })?;
    Ok(Mechanism { choice, calibration: Some(calibration) })
}

fn engine(arguments: &Arguments) -> Result<Option<control::Engine>, Failure> {
    match (arguments.engine, arguments.step) {
        (Engine::TrapFlag | Engine::Instructions, Step::Block) => Err(Failure::new(
            OVERSTEP_FAILED,
            "--step block needs the breakpoint engine: the others know no blocks",
        )
        .next("pass --engine breakpoint, or leave --step off")),
        (Engine::Instructions, Step::Instruction) => Ok(Some(control::Engine::Instructions)),
        (Engine::TrapFlag, Step::Instruction) => Ok(Some(control::Engine::TrapFlag)),
        (Engine::Breakpoint, _) | (Engine::Auto, Step::Block) => Ok(Some(control::Engine::Breakpoint)),
        (Engine::Auto, Step::Instruction) => Ok(None),
    }
}
