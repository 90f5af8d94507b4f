//! What this process may do, as far as it decides whether an event can be opened.

use std::fs;

/// The seccomp mode of `/proc/thread-self/status` (`proc_pid_status(5)`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seccomp {
    Off,
    Strict,
    /// A filter decides over every system call: containers, sandboxes, systemd units.
    Filter,
    Unknown,
}

/// The limits and permissions that bear on `perf_event_open`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    /// `/proc/sys/kernel/perf_event_paranoid`; `None` in a kernel without perf events.
    pub paranoid: Option<i64>,
    pub seccomp: Seccomp,
    /// CAP_PERFMON (5.8) or CAP_SYS_ADMIN is effective, which overrules `paranoid`.
    pub privileged: bool,
    /// RLIMIT_NOFILE, the soft limit on descriptors.
    pub descriptors: u64,
    pub kernel: Option<super::kernel::Version>,
}

pub const CAP_SYS_PTRACE: u32 = 19;
pub const CAP_SYS_ADMIN: u32 = 21;
pub const CAP_PERFMON: u32 = 38;

impl Environment {
    /// Reads `/proc` and the resource limits; what cannot be read is left unknown.
    #[must_use]
    pub fn read() -> Self {
        let status = Status::of_this_thread();
        let limit = nix::sys::resource::getrlimit(nix::sys::resource::Resource::RLIMIT_NOFILE);
        Self {
            paranoid: sysctl("kernel/perf_event_paranoid"),
            seccomp: status.seccomp(),
            privileged: status.capable(CAP_PERFMON) || status.capable(CAP_SYS_ADMIN),
            descriptors: limit.map_or(0, |(soft, _hard)| soft),
            kernel: super::kernel::Version::running(),
        }
    }
}

/// A number under `/proc/sys`; `None` where there is no such file.
#[must_use]
pub fn sysctl(name: &str) -> Option<i64> {
    fs::read_to_string(format!("/proc/sys/{name}")).ok()?.trim().parse().ok()
}

/// The text of `/proc/thread-self/status`: seccomp and capabilities are a thread's own.
#[derive(Clone, Debug, Default)]
pub struct Status(pub String);

impl Status {
    #[must_use]
    pub fn of_this_thread() -> Self {
        Self(fs::read_to_string("/proc/thread-self/status").unwrap_or_default())
    }

    /// What stands after `name:`.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&str> {
        let value = self.0.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        value.map(str::trim)
    }

    #[must_use]
    pub fn seccomp(&self) -> Seccomp {
        match self.field("Seccomp") {
            Some("0") => Seccomp::Off,
            Some("1") => Seccomp::Strict,
            Some("2") => Seccomp::Filter,
            _ => Seccomp::Unknown,
        }
    }

    /// Whether capability number `capability` is effective.
    #[must_use]
    pub fn capable(&self, capability: u32) -> bool {
        let effective = self.field("CapEff").and_then(|set| u64::from_str_radix(set, 16).ok());
        effective.is_some_and(|set| set >> capability & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_of_a_container() {
        let status =
            Status("Name:\tsh\nCapEff:\t0000004000000000\nSeccomp:\t2\nSeccomp_filters:\t1\n".into());
        assert_eq!(status.seccomp(), Seccomp::Filter);
        assert!(status.capable(CAP_PERFMON));
        assert!(!status.capable(CAP_SYS_ADMIN));
        assert_eq!(status.field("TracerPid"), None);
    }

    #[test]
    fn a_status_that_cannot_be_read_claims_nothing() {
        let status = Status::default();
        assert_eq!(status.seccomp(), Seccomp::Unknown);
        assert!(!status.capable(CAP_SYS_ADMIN));
    }
}
