//! The trace file's header: what is known before anything runs.

use std::time::SystemTime;

use super::machine::Machine;
use crate::record::calibration::Calibration;
use crate::record::control::Settings;
use crate::record::header::TraceHeader;

/// The header of a trace of `command`, begun now on this machine.
#[must_use]
pub fn header(
    settings: &Settings,
    calibration: Option<Calibration>,
    command: Vec<String>,
    functions: Vec<String>,
) -> TraceHeader {
    let machine = Machine::here();
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    TraceHeader {
        overstep: env!("CARGO_PKG_VERSION").to_owned(),
        engine: settings.engine,
        delivery: settings.delivery,
        rearm: settings.rearm,
        step: settings.step,
        into: settings.into,
        registers: settings.registers,
        memory: settings.memory,
        kernel: machine.kernel,
        cpu: machine.cpu,
        decoder: machine.decoder,
        command,
        functions,
        calibration,
        started: since_1970.map_or(0, |elapsed| elapsed.as_secs()),
    }
}
