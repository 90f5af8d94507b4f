//! Why an event could not be opened: the number, the cause on this machine, the next command.

use std::fmt;

use nix::errno::Errno as Name;

use super::environment::{Environment, Seccomp};
use super::kernel::{self, Version};
use crate::raw::Errno;
use crate::record::counted::Counted;

/// What was to be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    Trigger,
    Step,
    Guard,
    Counter(Counted),
}

/// What made the kernel refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// `perf_event_paranoid` is this high, and the process has no capability that overrules it.
    Paranoid(i64),
    /// A seccomp filter answers in the kernel's place.
    Seccomp,
    /// The kernel has no cause to answer so, and a seccomp filter is in force.
    PerhapsSeccomp,
    /// No setting explains it, so SELinux or another security module does.
    SecurityModule,
    /// The kernel is built without perf events.
    NoPerf,
    /// No PMU: usual in virtual machines.
    NoPmu,
    /// There is one, and it lacks this event.
    NotCounted,
    /// The CPU counts it only over periods from this one on.
    SmallestPeriod(u64),
    /// The kernel is built without hardware breakpoints, or the hypervisor hides the debug registers.
    NoBreakpoints,
    /// All four debug registers are taken.
    DebugRegistersTaken,
    /// Another event holds the counter for itself.
    CounterTaken,
    /// The PMU counts, but cannot interrupt.
    NoInterrupt,
    /// RLIMIT_NOFILE, and its value.
    DescriptorLimit(u64),
    /// The whole system's limit on open files.
    SystemDescriptorLimit,
    /// The kernel knows too few attributes; it is this one.
    TooOld(Version),
    /// The attributes are refused though the kernel is new enough.
    Attributes,
    /// The thread is gone.
    NoThread,
    Memory,
    Other,
}

/// `perf_event_open` failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub struct OpenError {
    pub errno: i32,
    pub wanted: Wanted,
    pub cause: Cause,
}

impl OpenError {
    /// Explains `errno` by what this process may do now.
    #[must_use]
    pub fn here(errno: Errno, wanted: Wanted) -> Self {
        Self::explain(errno, wanted, &Environment::read())
    }

    /// Explains `errno` by what the process may do in `environment` (`perf_event_open(2)`, ERRORS).
    #[must_use]
    pub fn explain(errno: Errno, wanted: Wanted, environment: &Environment) -> Self {
        let filtered = environment.seccomp == Seccomp::Filter;
        let hardware = matches!(wanted, Wanted::Counter(_));
        let cause = match errno.0 {
            // The settings answer EACCES; EPERM is what container profiles choose.
            libc::EPERM if filtered => Cause::Seccomp,
            libc::EACCES | libc::EPERM => match environment.paranoid {
                // Mainline stops nobody from watching himself; 3 and 4 are Debian's and Ubuntu's patch.
                Some(paranoid) if paranoid > 2 && !environment.privileged => Cause::Paranoid(paranoid),
                _ if filtered => Cause::Seccomp,
                _ => Cause::SecurityModule,
            },
            libc::ENOSYS if filtered => Cause::Seccomp,
            libc::ENOSYS => Cause::NoPerf,
            libc::ENOENT | libc::ENODEV | libc::ENXIO if hardware => Cause::NoPmu,
            libc::ENOENT | libc::ENODEV | libc::ENXIO | libc::EOPNOTSUPP if !hardware => Cause::NoBreakpoints,
            libc::EOPNOTSUPP => Cause::NoInterrupt,
            // A breakpoint gets EBUSY where its constraints race with another's; the registers are the cause.
            libc::ENOSPC | libc::EBUSY if !hardware => Cause::DebugRegistersTaken,
            libc::ENOSPC | libc::EBUSY => Cause::CounterTaken,
            libc::EMFILE => Cause::DescriptorLimit(environment.descriptors),
            libc::ENFILE => Cause::SystemDescriptorLimit,
            libc::EINVAL | libc::E2BIG => match environment.kernel {
                Some(version) if version < kernel::SIGTRAP => Cause::TooOld(version),
                _ if filtered => Cause::PerhapsSeccomp,
                _ => Cause::Attributes,
            },
            libc::ESRCH => Cause::NoThread,
            libc::ENOMEM => Cause::Memory,
            _ if filtered => Cause::PerhapsSeccomp,
            _ => Cause::Other,
        };
        Self { errno: errno.0, wanted, cause }
    }

    /// What to run or change next.
    #[must_use]
    pub const fn remedy(&self) -> &'static str {
        match self.cause {
            Cause::Paranoid(_) => "sudo sysctl kernel.perf_event_paranoid=2",
            Cause::Seccomp | Cause::PerhapsSeccomp => {
                "allow perf_event_open in the sandbox; for a container: docker run --security-opt \
                 seccomp=unconfined … (or a profile that allows perf_event_open)"
            }
            Cause::SecurityModule => {
                "look for the denial: sudo ausearch -m avc -ts recent; or sudo dmesg | grep -i denied"
            }
            Cause::NoPerf => "boot a kernel built with CONFIG_PERF_EVENTS=y",
            Cause::NoPmu => {
                "use --engine breakpoint, which needs no PMU; or have the host pass a vPMU on (QEMU: -cpu host,pmu=on)"
            }
            Cause::NotCounted => "ask for an event that this PMU has (perf list hw), or leave --event off",
            Cause::SmallestPeriod(_) => {
                "use --engine breakpoint: what runs in so long a period cannot be told step by step"
            }
            Cause::NoBreakpoints => {
                "boot a kernel built with CONFIG_HAVE_HW_BREAKPOINT=y and CONFIG_PERF_EVENTS=y"
            }
            Cause::DebugRegistersTaken => {
                "free one: leave the debugger's hardware breakpoints and watchpoints, and end `perf record -e mem:…`"
            }
            Cause::CounterTaken => {
                "end other users of the PMU (perf stat, perf record), or free the NMI watchdog's counter: \
                 sudo sysctl kernel.nmi_watchdog=0"
            }
            Cause::NoInterrupt => "use --engine breakpoint: this PMU cannot signal an overflow",
            Cause::DescriptorLimit(_) => "ulimit -n $(ulimit -Hn)",
            Cause::SystemDescriptorLimit => "sudo sysctl fs.file-max=1000000",
            Cause::TooOld(_) => "boot Linux 5.13 or later",
            Cause::Attributes => "overstep doctor --json, and report it: the kernel should accept this event",
            Cause::NoThread => "run it again: the thread ended meanwhile",
            Cause::Memory => "free memory, or raise the container's limit",
            Cause::Other => "overstep doctor --json, and report it",
        }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Name::from_raw(self.errno);
        write!(f, "cannot open {}: {name:?} ({}), {}", self.wanted, self.errno, self.cause)
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Trigger => "the trigger breakpoint",
            Self::Step => "the step breakpoint",
            Self::Guard => "the return guard",
            Self::Counter(Counted::Instructions) => "the instruction counter",
            Self::Counter(event) => return write!(f, "a counter of {event}"),
        })
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Paranoid(value) => write!(f, "perf_event_paranoid is {value}"),
            Self::Seccomp => f.write_str("a seccomp filter refuses perf_event_open"),
            Self::PerhapsSeccomp => {
                f.write_str("not the kernel's usual answer; a seccomp filter is in force")
            }
            Self::SecurityModule => {
                f.write_str("neither perf_event_paranoid nor seccomp says so: a security module")
            }
            Self::NoPerf => f.write_str("this kernel has no perf events"),
            Self::NoPmu => f.write_str("no PMU here"),
            Self::NotCounted => f.write_str("the PMU here does not count that event"),
            Self::SmallestPeriod(period) => write!(f, "this CPU's smallest period is {period}"),
            Self::NoBreakpoints => f.write_str("no hardware breakpoints here"),
            Self::DebugRegistersTaken => f.write_str("all four debug registers are taken"),
            Self::CounterTaken => f.write_str("the counter is taken by another user of the PMU"),
            Self::NoInterrupt => f.write_str("this PMU has no overflow interrupt"),
            Self::DescriptorLimit(limit) => {
                write!(f, "the limit of {limit} descriptors (RLIMIT_NOFILE) is reached")
            }
            Self::SystemDescriptorLimit => f.write_str("the system's limit on open files is reached"),
            Self::TooOld(version) => write!(f, "Linux {version} lacks sigtrap events (5.13)"),
            Self::Attributes => f.write_str("the kernel refuses these attributes"),
            Self::NoThread => f.write_str("the thread is gone"),
            Self::Memory => f.write_str("the kernel has no memory left"),
            Self::Other => f.write_str("for a reason that perf_event_open(2) does not list"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTER: Wanted = Wanted::Counter(Counted::Instructions);
    const PLAIN: Environment = Environment {
        paranoid: Some(2),
        seccomp: Seccomp::Off,
        privileged: false,
        descriptors: 1024,
        kernel: Some(Version::new(6, 18, 0)),
    };

    fn cause(errno: i32, wanted: Wanted, environment: &Environment) -> Cause {
        OpenError::explain(Errno(errno), wanted, environment).cause
    }

    #[test]
    fn paranoid_is_blamed_only_where_it_decides() {
        let debian = Environment { paranoid: Some(3), ..PLAIN };
        let root = Environment { privileged: true, ..debian.clone() };
        assert_eq!(cause(libc::EACCES, Wanted::Trigger, &debian), Cause::Paranoid(3));
        assert_eq!(cause(libc::EACCES, Wanted::Trigger, &root), Cause::SecurityModule);
        assert_eq!(cause(libc::EACCES, Wanted::Trigger, &PLAIN), Cause::SecurityModule);
    }

    #[test]
    fn a_filter_is_blamed_for_what_the_kernel_would_not_say() {
        let sandbox = Environment { seccomp: Seccomp::Filter, ..PLAIN };
        for errno in [libc::EPERM, libc::EACCES, libc::ENOSYS] {
            assert_eq!(cause(errno, Wanted::Trigger, &sandbox), Cause::Seccomp, "errno {errno}");
        }
        for errno in [libc::EINVAL, libc::EIO] {
            assert_eq!(cause(errno, Wanted::Trigger, &sandbox), Cause::PerhapsSeccomp, "errno {errno}");
        }
        assert_eq!(cause(libc::ENOSYS, Wanted::Trigger, &PLAIN), Cause::NoPerf);
    }

    #[test]
    fn the_same_errno_means_different_things_for_counter_and_breakpoint() {
        assert_eq!(cause(libc::ENOENT, COUNTER, &PLAIN), Cause::NoPmu);
        assert_eq!(cause(libc::ENOENT, Wanted::Step, &PLAIN), Cause::NoBreakpoints);
        assert_eq!(cause(libc::EOPNOTSUPP, COUNTER, &PLAIN), Cause::NoInterrupt);
        assert_eq!(cause(libc::ENOSPC, Wanted::Step, &PLAIN), Cause::DebugRegistersTaken);
        assert_eq!(cause(libc::EBUSY, COUNTER, &PLAIN), Cause::CounterTaken);
    }

    #[test]
    fn an_old_kernel_is_named() {
        let old = Environment { kernel: Some(Version::new(5, 10, 0)), ..PLAIN };
        assert_eq!(cause(libc::E2BIG, Wanted::Trigger, &old), Cause::TooOld(Version::new(5, 10, 0)));
        assert_eq!(cause(libc::EINVAL, Wanted::Trigger, &PLAIN), Cause::Attributes);
    }

    #[test]
    fn message_names_number_and_cause() {
        let error = OpenError::explain(Errno(libc::EMFILE), Wanted::Guard, &PLAIN);
        let expected = "cannot open the return guard: EMFILE (24), the limit of 1024 descriptors (RLIMIT_NOFILE) \
                        is reached";
        assert_eq!(error.to_string(), expected);
        assert_eq!(error.remedy(), "ulimit -n $(ulimit -Hn)");
    }
}
