//! Ctrl-C ends the measuring, not the report.

#![allow(unsafe_code, reason = "installs a signal handler")]

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

use crate::precision::plan::Stop;

/// Requested by SIGINT and SIGTERM.
pub static STOP: Stop = Stop::new();

/// From now on SIGINT and SIGTERM request [`STOP`]; a second one of the same kills.
pub fn listen() {
    let action = SigAction::new(
        SigHandler::Handler(interrupted),
        SaFlags::SA_RESTART | SaFlags::SA_RESETHAND,
        SigSet::empty(),
    );
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        // SAFETY:
        // - the handler stores to an atomic, which a handler may do.
        let _ = unsafe { sigaction(signal, &action) };
    }
}

/// # Signal safety
/// One store.
extern "C" fn interrupted(_signal: i32) {
    STOP.request();
}
