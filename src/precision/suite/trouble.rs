//! What it means that a measurement gave no facts.

use nix::errno::Errno as Name;
use nix::sys::resource::{Resource, getrlimit};

use crate::event::environment::{Environment, Seccomp};
use crate::event::error::{Cause, OpenError};
use crate::event::probe::failure::Failure;
use crate::precision::event::Event;
use crate::precision::judge::{Outcome, Verdict};
use crate::precision::measure::isolated::Trouble;
use crate::raw::Errno;

use super::row::Asked;

/// An event that cannot be opened is a skip; one that hangs or kills its child is a failure.
pub(super) fn verdict(trouble: &Trouble, event: &Event) -> Verdict {
    match trouble {
        Trouble::Refused(errno) => Verdict::skip(refusal(*errno, event)),
        Trouble::Broken(errno) => Verdict::fail(format!(
            "a call on the event failed: {:?} ({errno}); run it again, and report it with: overstep doctor --json",
            Name::from_raw(*errno)
        )),
        Trouble::Ended(Failure::NotStarted { errno }, _) => Verdict::skip(not_started(*errno)),
        Trouble::Stopped => Verdict::skip("interrupted"),
        Trouble::QueueFull { as_sigio, signals } => {
            Verdict::fail(format!("{as_sigio} of {signals} signals {}", queue_full()))
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
        Failure::Refused(_) => Verdict::skip(format!("{failure}; {}", failure.remedy())),
        Failure::NotStarted { errno } => Verdict::skip(not_started(*errno)),
        Failure::Unexpected { hit, signal: libc::SIGIO, .. } => {
            Verdict::fail(format!("the signal of hit {hit} {}", queue_full()))
        }
        _ => Verdict::fail(failure.to_string()),
    }
}

/// Why no child could be made for a measurement (`clone(2)`): number, cause, remedy.
fn not_started(errno: i32) -> String {
    let remedy = Failure::NotStarted { errno }.remedy();
    let cause = match errno {
        libc::EAGAIN => {
            let (soft, _) = getrlimit(Resource::RLIMIT_NPROC).unwrap_or_default();
            format!(
                "this user has as many processes as it may (RLIMIT_NPROC is {soft}), or the container has (pids.max)"
            )
        }
        libc::EMFILE => {
            let (soft, _) = getrlimit(Resource::RLIMIT_NOFILE).unwrap_or_default();
            format!("the limit of {soft} descriptors (RLIMIT_NOFILE) is reached")
        }
        libc::ENOMEM => "there is no memory left".to_owned(),
        _ => "something does not let it".to_owned(),
    };
    format!("{:?} ({errno}), no child could be started: {cause}; {remedy}", Name::from_raw(errno))
}

/// What SIGIO says that comes where a real-time signal was asked for: no room in the queue, which all of a user's
/// processes share.
fn queue_full() -> String {
    let (soft, _) = getrlimit(Resource::RLIMIT_SIGPENDING).unwrap_or_default();
    format!(
        "came as SIGIO ({}), because the queue of pending signals is full (RLIMIT_SIGPENDING is {soft}); ulimit -i $(ulimit -Hi), \
         or end what queues signals",
        libc::SIGIO
    )
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
        Cause::NoBreakpoints if *event == Event::Uprobe => {
            format!(
                "{name:?} ({errno}), this kernel has no uprobes; boot one built with CONFIG_UPROBE_EVENTS=y"
            )
        }
        // What it says of breakpoints is not true of software events.
        Cause::NoBreakpoints if *event != Event::Breakpoint => {
            format!("{name:?} ({errno}), this kernel has no {event}; choose others with --event")
        }
        Cause::DebugRegistersTaken if *event != Event::Breakpoint => {
            let filtered = environment.seccomp == Seccomp::Filter;
            let cause = if filtered { Cause::PerhapsSeccomp } else { Cause::Other };
            let error = OpenError { cause, ..error };
            format!("{name:?} ({errno}), {cause}; {}", error.remedy())
        }
        // Its remedy is an option of `trace`.
        Cause::NoInterrupt => format!("{name:?} ({errno}), {}", error.cause),
        cause => format!("{name:?} ({errno}), {cause}; {}", error.remedy()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_registers_are_blamed_for_breakpoints_only() {
        assert!(refusal(libc::ENOSPC, &Event::Breakpoint).contains("all four debug registers are taken"));
        for event in [Event::PageFaults, Event::CpuClock, Event::ContextSwitches] {
            for errno in [libc::ENOSPC, libc::EBUSY] {
                let told = refusal(errno, &event);
                assert!(told.contains(&format!("({errno}), ")) && told.contains("; "), "{told}");
                assert!(!told.contains("debug register") && !told.contains("breakpoint"), "{told}");
            }
        }
    }

    #[test]
    fn limits_are_named_with_the_number_and_the_command() {
        let told = |trouble: Trouble| verdict(&trouble, &Event::PageFaults);
        let full = told(Trouble::QueueFull { as_sigio: 7, signals: 10 });
        let reason = full.reason.unwrap();
        assert_eq!(full.outcome, Outcome::Fail);
        assert!(reason.starts_with("7 of 10 signals came as SIGIO (29)"), "{reason}");
        assert!(reason.contains("RLIMIT_SIGPENDING") && reason.contains("; ulimit -i "), "{reason}");
        let probed = of_probe(&Failure::Unexpected { hit: 0, signal: libc::SIGIO, code: 128 });
        assert!(probed.reason.unwrap().contains("RLIMIT_SIGPENDING"));
        let many = told(Trouble::Ended(Failure::NotStarted { errno: libc::EAGAIN }, Box::default()));
        let reason = many.reason.unwrap();
        assert_eq!(many.outcome, Outcome::Skip);
        assert!(reason.starts_with("EAGAIN (11), no child could be started"), "{reason}");
        assert!(reason.contains("RLIMIT_NPROC") && reason.contains("; ulimit -u "), "{reason}");
    }
}
