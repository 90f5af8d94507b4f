//! What the kernel can count with, and how often its timer ticks.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// A source of events, as `/sys/bus/event_source/devices` lists them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pmu {
    /// `cpu`; `cpu_core` and `cpu_atom` on a hybrid machine; `breakpoint`, `software`.
    pub name: String,
    /// `attr.type` of its events.
    pub kind: Option<u32>,
    /// The files of its `caps` folder: `max_precise`, `pmu_name`, `branches`.
    pub capabilities: BTreeMap<String, String>,
    /// The CPUs it belongs to; `None` for those of all CPUs.
    pub cpus: Option<String>,
}

impl Pmu {
    /// All there are, by name; none where sysfs is not mounted.
    #[must_use]
    pub fn all() -> Vec<Self> {
        Self::below(Path::new("/sys/bus/event_source/devices"))
    }

    fn below(folder: &Path) -> Vec<Self> {
        let names = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut pmus: Vec<_> = names.map(|entry| Self::at(&entry.path())).collect();
        pmus.sort_by(|a, b| a.name.cmp(&b.name));
        pmus
    }

    fn at(folder: &Path) -> Self {
        let capabilities = fs::read_dir(folder.join("caps")).into_iter().flatten().flatten();
        let capability = |path: &Path| Some((name(path), line(path)?));
        Self {
            name: name(folder),
            kind: line(&folder.join("type")).and_then(|kind| kind.parse().ok()),
            capabilities: capabilities.filter_map(|entry| capability(&entry.path())).collect(),
            cpus: line(&folder.join("cpus")),
        }
    }

    /// Whether it is a CPU's own: `cpu`, or one core type of a hybrid machine.
    #[must_use]
    pub fn is_of_cpu(&self) -> bool {
        ["cpu", "cpu_core", "cpu_atom", "cpu_lowpower"].contains(&self.name.as_str())
    }
}

/// Ticks a second: what a coarse clock resolves is one tick (Linux `kernel/time/posix-timers.c`,
/// `posix_get_coarse_res`). `None` where the clock will not say.
#[must_use]
pub fn hz() -> Option<u32> {
    let tick = clock::resolution()?;
    (tick > 0).then(|| (1_000_000_000 / tick) as u32)
}

mod clock {
    #![allow(unsafe_code, reason = "clock_getres takes a pointer")]

    /// Nanoseconds between two values of CLOCK_MONOTONIC_COARSE.
    pub fn resolution() -> Option<i64> {
        let mut resolution = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `resolution` lives and is what the call writes.
        let failed = unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &raw mut resolution) };
        (failed == 0).then_some(resolution.tv_nsec)
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn line(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hybrid_machine_is_read() {
        let root = tempfile::tempdir().unwrap();
        let core = root.path().join("cpu_core");
        fs::create_dir_all(core.join("caps")).unwrap();
        fs::write(core.join("type"), "4\n").unwrap();
        fs::write(core.join("cpus"), "0-15\n").unwrap();
        fs::write(core.join("caps/max_precise"), "3\n").unwrap();
        fs::create_dir(root.path().join("breakpoint")).unwrap();
        let pmus = Pmu::below(root.path());
        let [breakpoint, core] = pmus.as_slice() else { panic!("{pmus:?}") };
        assert_eq!((breakpoint.kind, breakpoint.is_of_cpu()), (None, false));
        assert_eq!((core.kind, core.cpus.as_deref(), core.is_of_cpu()), (Some(4), Some("0-15"), true));
        assert_eq!(core.capabilities.get("max_precise").map(String::as_str), Some("3"));
        assert!(Pmu::below(Path::new("/nonexistent")).is_empty());
    }

    #[test]
    fn the_tick_is_one_that_kernels_are_built_with() {
        assert!([100, 250, 300, 1000].contains(&hz().unwrap()), "{:?}", hz());
    }
}
