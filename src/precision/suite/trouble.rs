//! What it means that a measurement gave no facts.

use crate::event::environment::Environment;
use crate::event::error::{Cause, OpenError};
use crate::event::probe::failure::Failure;
use crate::precision::event::Event;
use crate::precision::judge::{Outcome, Verdict};
use crate::precision::measure::isolated::Trouble;
use crate::raw::Errno;
use nix::errno::Errno as Name;

use super::row::Asked;

/// An event that cannot be opened is a skip; one that hangs or kills its child is a failure.
pub(super) fn verdict(trouble: &Trouble, event: &Event) -> Verdict {
    match trouble {
        Trouble::Refused(errno) => Verdict::skip(refusal(*errno, event)),
        Trouble::Broken(errno) => {
            Verdict::fail(format!("a call on the event failed: {} ({errno})", Name::from_raw(*errno)))
        }
        Trouble::Ended(failure @ Failure::NotStarted { .. }, _) => {
            Verdict::skip(format!("{failure}; {}", failure.remedy()))
        }
        Trouble::Ended(failure, seen) => {
            Verdict::because(Outcome::Fail, format!("{failure}, after {} signals", seen.signals))
        }
    }
}

/// The same of a row, which may ask for what this PMU cannot do.
pub(super) fn of_row(trouble: &Trouble, asked: &Asked) -> Verdict {
    match trouble {
        Trouble::Refused(libc::EOPNOTSUPP) if asked.precise > 0 && asked.event.is_hardware() => {
            Verdict::skip(format!(
                "EOPNOTSUPP ({}), this PMU does not count {} at precise level {} (no PEBS or IBS); measure --precise 0",
                libc::EOPNOTSUPP,
                asked.event,
                asked.precise
            ))
        }
        _ => verdict(trouble, &asked.event),
    }
}

/// A probe of `event`'s that is refused is a skip, one that fails otherwise a failure.
pub(super) fn of_probe(failure: &Failure) -> Verdict {
    match failure {
        Failure::Refused(_) | Failure::NotStarted { .. } => {
            Verdict::skip(format!("{failure}; {}", failure.remedy()))
        }
        _ => Verdict::fail(failure.to_string()),
    }
}

/// Up to which `perf_event_paranoid` an event that happens in the kernel is for everyone (`perf_allow_kernel`,
/// `perf_allow_tracepoint` in `include/linux/perf_event.h`).
const fn paranoid_for(event: &Event) -> Option<i64> {
    match event {
        Event::ContextSwitches => Some(1),
        Event::Tracepoint(_) | Event::Uprobe => Some(-1),
        _ => None,
    }
}

/// Why `event` cannot be opened: number, cause, remedy.
fn refusal(errno: i32, event: &Event) -> String {
    let environment = Environment::read();
    let error = OpenError::explain(Errno(errno), event.wanted(), &environment);
    let name = Name::from_raw(errno);
    if let (libc::EACCES | libc::EPERM, Some(paranoid), Some(allowed), false) =
        (errno, environment.paranoid, paranoid_for(event), environment.privileged)
        && paranoid > allowed
    {
        return format!(
            "{name:?} ({errno}), perf_event_paranoid is {paranoid}, and it happens in the kernel; run as root, or: sudo \
             sysctl kernel.perf_event_paranoid={allowed}"
        );
    }
    match error.cause {
        Cause::NoBreakpoints | Cause::Attributes if matches!(event, Event::Tracepoint(_)) => format!(
            "{name:?} ({errno}), there is no such tracepoint; sudo grep -r . /sys/kernel/tracing/events/*/*/id shows all"
        ),
        Cause::NoPmu => format!("{name:?} ({errno}), no PMU here"),
        // What it says of breakpoints is not true of software events.
        Cause::NoBreakpoints | Cause::DebugRegistersTaken if *event != Event::Breakpoint => {
            format!("{name:?} ({errno}), this kernel has no such event")
        }
        // Its remedy is an option of `trace`.
        Cause::NoInterrupt => format!("{name:?} ({errno}), {}", error.cause),
        cause => format!("{name:?} ({errno}), {cause}; {}", error.remedy()),
    }
}
