//! Kernel versions: the least that each part needs, and the releases in which a part is broken.

use std::fmt;

/// A Linux release, from the front of `uname -r`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
    pub patch: u32,
}

/// Syscall user dispatch, which keeps the program's signal state virtual in native stretches.
pub const SYSCALL_USER_DISPATCH: Version = Version::new(5, 11, 0);
/// `attr.sigtrap`, `remove_on_exec` and `inherit_thread`: the trigger, so everything of ours.
pub const SIGTRAP: Version = Version::new(5, 13, 0);

/// A kernel bug that changes what may be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Regression {
    pub name: &'static str,
    /// The first release that has it.
    pub from: Version,
    /// The first release that is free of it again; `None` while no such release is known.
    pub until: Option<Version>,
    pub what: &'static str,
    pub answer: &'static str,
    pub evidence: Evidence,
}

/// How overstep comes to know that a kernel has a regression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// By trying it: the version is only the expectation.
    Probed,
    /// By the version alone: trying it takes the machine down.
    VersionOnly,
}

pub const REGRESSIONS: [Regression; 3] = [
    Regression {
        name: "poll-hup-lost",
        from: Version::new(6, 16, 0),
        until: Some(Version::new(6, 16, 8)),
        what: "the overflow that uses up a REFRESH limit sends POLL_IN instead of POLL_HUP, or nothing",
        answer: "the re-arm is found by trying; one that needs no limit is used",
        evidence: Evidence::Probed,
    },
    CLOCK_REFRESH_HANG,
    Regression {
        name: "breakpoint-dead-after-refresh",
        from: Version::new(6, 16, 8),
        until: None,
        what: "a breakpoint event that its REFRESH limit stopped never fires again after another REFRESH",
        answer: "the re-arm is found by trying: REFRESH followed by PERIOD restores it",
        evidence: Evidence::Probed,
    },
];

/// The one that must be refused before anything is tried.
pub const CLOCK_REFRESH_HANG: Regression = Regression {
    name: "clock-refresh-hang",
    from: Version::new(6, 16, 8),
    until: Some(Version::new(6, 18, 0)),
    what: "REFRESH on a cpu-clock or task-clock event hangs the whole machine",
    answer: "clock events are refused by version, and never probed",
    evidence: Evidence::VersionOnly,
};

impl Regression {
    /// Whether `kernel` is among the releases that have it.
    #[must_use]
    pub fn affects(&self, kernel: Version) -> bool {
        self.from <= kernel && self.until.is_none_or(|fixed| kernel < fixed)
    }
}

impl Version {
    #[must_use]
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self { major, minor, patch }
    }

    /// Reads `6.18.44-generic`, `5.13`, `6.17-rc3`: whatever stands after the numbers is the vendor's.
    #[must_use]
    pub fn parse(release: &str) -> Option<Self> {
        let numbers = release.split(|c: char| !c.is_ascii_digit() && c != '.').next()?;
        let mut parts = numbers.split('.').map(str::parse::<u32>);
        let major = parts.next()?.ok()?;
        let minor = parts.next()?.ok()?;
        let patch = parts.next().and_then(Result::ok).unwrap_or(0);
        Some(Self { major, minor, patch })
    }

    /// The running kernel's version; `None` where `/proc/sys/kernel/osrelease` cannot be read.
    #[must_use]
    pub fn running() -> Option<Self> {
        Self::parse(&std::fs::read_to_string("/proc/sys/kernel/osrelease").ok()?)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit_by(release: &str) -> Vec<&'static str> {
        let kernel = Version::parse(release).unwrap();
        REGRESSIONS.iter().filter(|r| r.affects(kernel)).map(|r| r.name).collect()
    }

    #[test]
    fn releases_as_distributions_write_them() {
        assert_eq!(Version::parse("6.18.44-fc-v782\n"), Some(Version::new(6, 18, 44)));
        assert_eq!(Version::parse("5.13"), Some(Version::new(5, 13, 0)));
        assert_eq!(Version::parse("6.17-rc3"), Some(Version::new(6, 17, 0)));
        assert_eq!(Version::parse("4.18.0-553.el8_10.x86_64"), Some(Version::new(4, 18, 0)));
        assert_eq!(Version::parse("Linux"), None);
    }

    #[test]
    fn regressions_by_release() {
        assert!(hit_by("6.15.11").is_empty());
        assert_eq!(hit_by("6.16.0"), ["poll-hup-lost"]);
        assert_eq!(hit_by("6.16.7"), ["poll-hup-lost"]);
        assert_eq!(hit_by("6.16.8"), ["clock-refresh-hang", "breakpoint-dead-after-refresh"]);
        assert_eq!(hit_by("6.17.13"), ["clock-refresh-hang", "breakpoint-dead-after-refresh"]);
        assert_eq!(hit_by("6.18.44"), ["breakpoint-dead-after-refresh"]);
    }
}
