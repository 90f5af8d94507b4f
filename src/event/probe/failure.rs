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
    pub held: Held,
}

/// Whether the kernel holds an event that overflows too often (`kernel/events/core.c`, `__perf_event_account_interrupt`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    Never,
    /// It stopped counting at an overflow, for a while.
    Throttled,
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
    #[error("the last overflow of a REFRESH limit came as POLL_IN, not as POLL_HUP")]
    NoHangUp,
    #[error(
        "it counts {per_mille} thousandths of the time only: others share the counter, or this core type lacks it"
    )]
    Shared { per_mille: u64 },
    #[error("it hardly counts: {counted}, where about {expected} were to come")]
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
            Self::Shared { .. } => {
                "end other users of the PMU (perf stat, perf record); on a hybrid CPU stay on one core type: taskset -c N"
            }
            Self::NotStarted { errno: libc::EMFILE } => "ulimit -n $(ulimit -Hn)",
            Self::NotStarted { errno: libc::EAGAIN } => "ulimit -u $(ulimit -Hu)",
            Self::NotStarted { errno: libc::ENOMEM } => "free memory, or raise the container's limit",
            Self::NotStarted { .. } => {
                "allow clone in the sandbox: the probes run in short-lived child processes"
            }
            Self::Missed { hits: 0, .. } => {
                "try another host or kernel: the event opens, but a debug exception never arrives (a hypervisor or \
                 sandbox that keeps it)"
            }
            Self::NoHangUp => "nothing: the re-arm in use does without POLL_HUP",
            Self::Killed { .. } | Self::TimedOut { .. } => {
                "overstep doctor --json, and report it with the kernel's version"
            }
            Self::Missed { .. } | Self::Misplaced { .. } | Self::Unexpected { .. } | Self::Rearm { .. } => {
                "use another --delivery; overstep doctor lists those that work"
            }
        }
    }
}
