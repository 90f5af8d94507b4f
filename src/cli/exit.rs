//! How `overstep` ends: the exit statuses are part of the interface (design of `env(1)` and `timeout(1)`).

use std::fmt;

/// `list`, `check`, `symbols`, `doctor`: what was asked holds, or is there.
pub const HOLDS: u8 = 0;
/// It does not hold, or is not there.
pub const DOES_NOT_HOLD: u8 = 1;
/// Used wrongly, or unable to answer.
pub const USAGE: u8 = 2;
/// `trace --strict`: the program ran, but not every step came as expected.
pub const NOT_STRICT: u8 = 124;
/// `trace`: overstep failed or was used wrongly.
pub const OVERSTEP_FAILED: u8 = 125;
/// `trace`: the program is there but cannot be run.
pub const CANNOT_RUN: u8 = 126;
/// `trace`: there is no such program.
pub const NOT_FOUND: u8 = 127;

/// The way a subcommand that did its work ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Status(u8),
    /// Die by this signal, as the traced program did.
    Signal(i32),
}

/// Why a subcommand could not do its work: the status, what happened, and what to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub status: u8,
    pub what: String,
    pub next: Option<String>,
}

impl Failure {
    pub fn new(status: u8, what: impl fmt::Display) -> Self {
        Self { status, what: what.to_string(), next: None }
    }

    /// The command or change that helps, as a sentence without a full stop.
    #[must_use]
    pub fn next(mut self, next: impl fmt::Display) -> Self {
        self.next = Some(next.to_string());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        match &self.next {
            Some(next) => write!(f, "\n  {next}"),
            None => Ok(()),
        }
    }
}
