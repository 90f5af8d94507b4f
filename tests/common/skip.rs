//! Tests that prove nothing here say so.

use std::process::{Command, Stdio};

use super::program::FIXED_ADDRESSES;

/// Prints why `test` proves nothing; `None`, for `?` and `else`.
pub fn skip<T>(test: &str, reason: &str) -> Option<T> {
    println!("SKIP {test}: {reason}");
    None
}

/// Whether this machine lets breakpoints be traced, with ASLR off.
pub fn traceable(test: &str) -> Option<()> {
    if !overstep::can_trace() {
        return skip(test, "breakpoint events do not work here; see `overstep doctor`");
    }
    installed(test, FIXED_ADDRESSES[0])
}

/// Whether `program` is on the PATH.
pub fn installed(test: &str, program: &str) -> Option<()> {
    let mut command = Command::new(program);
    let started = command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match started.status() {
        Ok(_) => Some(()),
        Err(error) => skip(test, &format!("{program}: {error}")),
    }
}
