//! How a probe can fail, and what to do about it.

use std::time::Duration;

use nix::errno::Errno as Name;

use crate::address::RuntimeAddr;
use crate::event::error::OpenError;

/// What a probe saw when all went well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fired {
    /// Signals that came where they had to, as many as there were hits.
    pub hits: u32,
    /// Their `si_code`s in order, run-length encoded.
    pub codes: Vec<(&'static str, u32)>,
}

/// Why a mechanism does not work here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    #[error(transparent)]
    Refused(#[from] OpenError),
    #[error("{hits} of {of} hits gave a signal")]
    Missed { hits: u32, of: u32 },
    #[error("hit {hit}: the saved RIP was {found}, not {expected}")]
    Misplaced { hit: u32, expected: RuntimeAddr, found: RuntimeAddr },
    #[error("the signal of hit {hit} was number {signal} with si_code {code}")]
    Unexpected { hit: u32, signal: i32, code: i32 },
    #[error("moving or re-arming the event failed: {name:?} ({errno})", name = Name::from_raw(*errno))]
    Rearm { errno: i32 },
    #[error("the probe was killed by signal {signal}")]
    Killed { signal: i32 },
    #[error("the probe did not end within {} ms", after.as_millis())]
    TimedOut { after: Duration },
    #[error("the probe could not be started: {name:?} ({errno})", name = Name::from_raw(*errno))]
    NotStarted { errno: i32 },
    #[error("it counts nothing: {counted} of about {expected} instructions")]
    Deaf { counted: u64, expected: u64 },
    #[error("it counts ({counted}), but no overflow gave a signal")]
    Silent { counted: u64 },
}

impl Failure {
    /// What to run or change next.
    #[must_use]
    pub const fn remedy(&self) -> &'static str {
        match self {
            Self::Refused(error) => error.remedy(),
            Self::Deaf { .. } | Self::Silent { .. } => {
                "use --engine breakpoint: the counter opens but its overflows never arrive (a vPMU without \
                 interrupts, or an event of another core type)"
            }
            Self::NotStarted { .. } => "raise the process limit: ulimit -u",
            Self::Killed { .. } | Self::TimedOut { .. } => "overstep doctor --json, and report it with the kernel's version",
            Self::Missed { .. } | Self::Misplaced { .. } | Self::Unexpected { .. } | Self::Rearm { .. } => {
                "use another --delivery; overstep doctor lists those that work"
            }
        }
    }
}
