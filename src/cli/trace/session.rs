//! What the agent and the trace file are told before the program starts.

use super::arguments::{Arguments, Registers};
use super::choose::Mechanism;
use crate::cli::exit::{Failure, OVERSTEP_FAILED};
use crate::record::calibration::Calibration;
use crate::record::control::Settings;
use crate::record::counted::Counting;
use crate::record::header::TraceHeader;
use crate::record::shared_control::SharedControl;
use crate::session::header;

/// The command line in the agent's terms.
pub fn settings(arguments: &Arguments, mechanism: &Mechanism) -> Settings {
    let counter = mechanism.calibration.as_ref();
    let choice = &mechanism.choice;
    Settings {
        engine: choice.engine,
        delivery: choice.delivery,
        rearm: choice.rearm,
        step: arguments.step.into(),
        into: arguments.into.into(),
        first_call: arguments.nth,
        calls: arguments.calls.unwrap_or(u64::MAX),
        max_steps: arguments.max_steps.unwrap_or(u64::MAX),
        registers: arguments.registers == Registers::Changed,
        memory: arguments.memory,
        patch: choice.patch,
        counting: counter.map_or(Counting::NONE, |found| Counting {
            event: found.event,
            unit: found.unit,
            tail: found.tail,
            period: found.period,
        }),
    }
}

/// The control block of one session. Close-on-exec: the agent opens it through `/proc`, see [`super::launch`].
///
/// # Errors
/// 125: the function names do not fit, or no memfd is to be had.
pub fn control(settings: &Settings, functions: &[String]) -> Result<SharedControl, Failure> {
    SharedControl::create(settings, functions).map_err(|error| {
        let failure = Failure::new(OVERSTEP_FAILED, format_args!("cannot set up the session: {error}"));
        match error.raw_os_error() {
            Some(libc::EMFILE) => failure.next("raise the limit on open files: ulimit -n 64"),
            Some(libc::EFBIG) => failure.next("raise the limit on the size of files: ulimit -f unlimited"),
            _ => failure,
        }
    })
}

/// What is known before the program starts.
pub fn header(arguments: &Arguments, settings: &Settings, calibration: Option<Calibration>) -> TraceHeader {
    let command = arguments.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    header::header(settings, calibration, command, arguments.functions.clone())
}
