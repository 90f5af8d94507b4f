//! How a call ended that was still open where its thread's rows end.

use super::names;
use crate::record::reader::{DamageCause, Trace};

/// Why there are no more rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The process ended by itself, with this status.
    Exited(u8),
    /// A signal ended the process.
    Killed(u32),
    /// The trace was never closed.
    Unclosed,
    /// The trace was never closed, and parts of its file are damaged or missing.
    Damaged,
    /// The thread went on with another call.
    Unsaid,
}

impl Ending {
    /// By the wait status in the trace (`man 2 waitpid`), or by the lack of one.
    #[must_use]
    pub fn of(trace: &Trace) -> Self {
        match trace.ending().map(|ending| ending.wait_status) {
            Some(status) if libc::WIFSIGNALED(status) => Self::Killed(libc::WTERMSIG(status) as u32),
            Some(status) => Self::Exited(libc::WEXITSTATUS(status) as u8),
            None if trace.damage().iter().any(|damage| damage.cause != DamageCause::Hole) => Self::Damaged,
            None => Self::Unclosed,
        }
    }

    /// In words; `place` says after which row.
    #[must_use]
    pub fn in_words(self, place: &str) -> String {
        match self {
            Self::Exited(status) => format!("exit, status {status}; the trace ends here, {place}"),
            Self::Killed(signal) => {
                let name = names::signal(signal);
                format!("killed by signal {signal} {name}; the trace ends here, {place}")
            }
            Self::Unclosed => {
                format!(
                    "the trace ends here, {place}: overstep was killed or is still running, or its file was cut"
                )
            }
            Self::Unsaid => format!("lost: nothing says how this call ended {place}"),
            Self::Damaged => format!("the trace ends here, {place}: its file is cut or damaged"),
        }
    }
}
