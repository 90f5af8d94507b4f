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

/// The process that traces this one.
#[must_use]
pub fn traced_by() -> Option<u32> {
    Status::of_this_thread().field("TracerPid")?.parse().ok().filter(|pid| *pid != 0)
}

/// The options of the `overstep emulate` that this process runs under.
#[must_use]
pub fn emulated() -> Option<String> {
    let command = fs::read(format!("/proc/{}/cmdline", traced_by()?)).ok()?;
    options_of_emulator(&command)
}

/// What stands between `emulate` and the program, in a command line as `/proc` gives it; `None` of another command.
fn options_of_emulator(command: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(command);
    let mut words = text.split('\0').filter(|word| !word.is_empty());
    let program = std::path::Path::new(words.next()?);
    // Kept under a name such as `overstep-0.2`, too.
    let ours = program.file_name().is_some_and(|name| name.to_string_lossy().starts_with("overstep"));
    let ours = ours && words.next() == Some("emulate");
    ours.then(|| words.take_while(|word| *word != "--").collect::<Vec<_>>().join(" "))
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
    fn only_the_emulator_is_taken_for_one() {
        let emulator = b"/usr/bin/overstep\0emulate\0--skid\0uniform:0-4\0--\0overstep\0validate\0";
        assert_eq!(options_of_emulator(emulator).as_deref(), Some("--skid uniform:0-4"));
        assert_eq!(options_of_emulator(b"./overstep-0.2\0emulate\0--\0true\0").as_deref(), Some(""));
        assert_eq!(options_of_emulator(b"gdb\0--args\0overstep\0emulate\0"), None);
        assert_eq!(options_of_emulator(b"overstep\0validate\0"), None);
        assert_eq!(options_of_emulator(b""), None);
    }

    #[test]
    fn a_status_that_cannot_be_read_claims_nothing() {
        let status = Status::default();
        assert_eq!(status.seccomp(), Seccomp::Unknown);
        assert!(!status.capable(CAP_SYS_ADMIN));
    }
}
