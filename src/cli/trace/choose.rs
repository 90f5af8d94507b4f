//! From `--engine`, `--delivery` and `--step` to a mechanism that works here.

use super::arguments::{Arguments, Delivery, Engine, Step};
use crate::cli::exit::{Failure, OVERSTEP_FAILED};
use crate::event::choose::{Choice, Here, choose_on};
use crate::event::environment::{emulated, traced_by};
use crate::event::error::Wanted;
use crate::event::probe::calibrate::calibrate;
use crate::record::calibration::{Calibration, Troubles};
use crate::record::control;
use crate::record::counted::{Counted, Unit};
use crate::session::machine::Machine;

/// What was asked for; `None` leaves a part to the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    engine: Option<control::Engine>,
    delivery: Option<control::Delivery>,
    /// Of the `instructions` engine: what it counts, and how many from stop to stop.
    event: Counted,
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
        let counter = self.calibration.as_ref();
        let lines = [
            counter.map(about_counter),
            counter.and_then(about_limit),
            counter.and_then(about_overcount),
            counter.and_then(about_losses),
            counter.and_then(about_absence),
        ];
        self.choice.notices.iter().cloned().chain(lines.into_iter().flatten())
    }
}

/// A debugger around us; the supervisor of `overstep emulate` is none.
pub fn about_debugger() -> Option<String> {
    let pid = traced_by().filter(|_| emulated().is_none())?;
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    Some(format!(
        "`{}` (pid {pid}) traces this process, and may hold the program at each SIGTRAP before it is handled",
        name.trim()
    ))
}

/// What the counter is like, in one line.
fn about_counter(found: &Calibration) -> String {
    let Calibration { event, tail, period, smallest_period, progress, .. } = found;
    let wanted = period - tail;
    let counter = match event {
        Counted::Instructions => "counter".to_owned(),
        event => format!("counter of {event}"),
    };
    let smallest =
        if period == smallest_period && wanted > 1 { ", the smallest that this CPU takes" } else { "" };
    let in_words = |runs: &[(u64, u32)]| {
        runs.iter().map(|(by, times)| format!("{by} in {times}")).collect::<Vec<_>>().join(", ")
    };
    let steps: u32 = progress.iter().map(|(_, times)| times).sum();
    let went = if found.unit == Unit::Other {
        // How many instructions a count is, nobody knows beforehand.
        format!("calibration went on by {} of {steps} steps", in_words(progress))
    } else {
        let (right, others): (Vec<_>, Vec<_>) = progress.iter().copied().partition(|(by, _)| *by == wanted);
        let others =
            if others.is_empty() { String::new() } else { format!(" (instead: {})", in_words(&others)) };
        let right: u32 = right.iter().map(|(_, times)| times).sum();
        format!("calibration went {wanted} on in {right} of {steps} steps{others}")
    };
    format!("{counter}: handler tail {tail}, period {period}{smallest}; {went}")
}

/// A kernel that does not say POLL_HUP when the limit has stopped the counter.
fn about_limit(found: &Calibration) -> Option<String> {
    let named =
        |name: &str| found.codes.iter().filter(|(code, _)| code == name).map(|(_, times)| times).sum::<u32>();
    let (wrong, right) = (named("POLL_IN"), named("POLL_HUP"));
    (wrong > 0).then(|| {
        format!(
            "counter: {wrong} of {} signals at the limit said POLL_IN, not POLL_HUP (Linux 6.16.0 to 6.16.7 do so); stepping \
             does without",
            wrong + right
        )
    })
}

/// A counter that runs ahead of the code.
fn about_overcount(found: &Calibration) -> Option<String> {
    (found.overcount > 0).then(|| {
        format!(
            "counter: it counts {} in a million too many, as interrupts and page faults cause: the handler tail is the least \
             that was seen",
            found.overcount
        )
    })
}

/// Overflows that gave no signal.
fn about_losses(found: &Calibration) -> Option<String> {
    let Troubles { armed, lost, .. } = found.troubles;
    (lost > 0).then(|| {
        format!(
            "counter: {lost} of {armed} overflows of calibration gave no signal: signals get lost here, and rows with them"
        )
    })
}

/// A counter that others have, or that is not counted on each core.
fn about_absence(found: &Calibration) -> Option<String> {
    let Troubles { armed, away, missed, .. } = found.troubles;
    (away > 0).then(|| {
        format!(
            "counter: it did not count all the time, {missed} thousandths of it at worst, before {away} of {armed} overflows of \
             calibration: others share it (multiplexing), or this core type lacks it; rows of such times will be lost"
        )
    })
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
    if let (Some(event), false) = (arguments.event, engine == Some(control::Engine::Instructions)) {
        return Err(Failure::new(
            OVERSTEP_FAILED,
            format_args!("--event {event} is of the instructions engine: the others count nothing"),
        )
        .next("pass --engine instructions, or leave --event off"));
    }
    let event = arguments.event.unwrap_or_default();
    Ok(Asked { engine, delivery, event, period: arguments.period.unwrap_or(1) })
}

/// Finds what works here by trying.
///
/// # Errors
/// 125: nothing that was asked for does; the message says why.
pub fn mechanism(asked: Asked) -> Result<Mechanism, Failure> {
    let counted = asked.event;
    let choice = choose_on(&mut Here { counted }, asked.engine, asked.delivery).map_err(|error| {
        Failure::new(OVERSTEP_FAILED, error).next("overstep doctor says what works here and what to change")
    })?;
    if choice.engine != control::Engine::Instructions {
        return Ok(Mechanism { choice, calibration: None });
    }
    let unit = counted.unit(Machine::here().decoder);
    let calibration = calibrate(counted, unit, choice.delivery, asked.period).map_err(|failure| {
        let failed = format_args!("{} cannot be calibrated: {failure}", Wanted::Counter(counted));
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
