//! The running kernel: its release, what it is too old for, and the bugs it has.

use serde::Serialize;

use super::mechanisms::Mechanisms;
use crate::event::kernel::{Evidence, REGRESSIONS, Regression, SIGTRAP, SYSCALL_USER_DISPATCH, Version};

/// The running kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Kernel {
    /// `uname -r`.
    pub release: String,
    /// 5.11: syscall user dispatch.
    pub syscall_user_dispatch: Option<bool>,
    /// 5.13: `sigtrap`, `inherit_thread` and `remove_on_exec`; `None` when the release has no version.
    pub sigtrap: Option<bool>,
    pub regressions: Vec<Known>,
}

/// A bug of this kernel's version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Known {
    pub name: &'static str,
    pub what: &'static str,
    pub answer: &'static str,
    /// Whether it showed here; `None` where trying it would take the machine down.
    pub seen: Option<bool>,
}

impl Kernel {
    pub(super) fn read(mechanisms: &Mechanisms) -> Self {
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Self::of(release.trim(), |known| mechanisms.shows(known))
    }

    /// The facts that follow from a release's name; `shows` says of a regression whether it was met.
    pub(super) fn of(release: &str, shows: impl Fn(&Regression) -> Option<bool>) -> Self {
        let version = Version::parse(release);
        let affecting =
            REGRESSIONS.iter().filter(|known| version.is_some_and(|kernel| known.affects(kernel)));
        Self {
            release: release.to_owned(),
            syscall_user_dispatch: version.map(|kernel| kernel >= SYSCALL_USER_DISPATCH),
            sigtrap: version.map(|kernel| kernel >= SIGTRAP),
            regressions: affecting
                .map(|known| Known {
                    name: known.name,
                    what: known.what,
                    answer: known.answer,
                    seen: if known.evidence == Evidence::Probed { shows(known) } else { None },
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_kernel_lacks_sigtrap_but_not_dispatch() {
        let kernel = Kernel::of("5.11.0-49-generic", |_| Some(true));
        assert_eq!((kernel.syscall_user_dispatch, kernel.sigtrap), (Some(true), Some(false)));
        assert!(kernel.regressions.is_empty());
    }

    #[test]
    fn the_clock_hang_is_never_called_seen() {
        let kernel = Kernel::of("6.17.1", |_| Some(true));
        let found: Vec<_> = kernel.regressions.iter().map(|known| (known.name, known.seen)).collect();
        assert_eq!(found, [("clock-refresh-hang", None), ("breakpoint-dead-after-refresh", Some(true))]);
    }
}
