//! The machine that was measured, for whoever reads the report elsewhere.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::doctor::cpu::Cpu;
use crate::doctor::pmu::{Pmu, hz};
use crate::event::environment::{emulated, sysctl, traced_by};

/// Facts that bear on overflow signals.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// `uname -r`.
    pub kernel: String,
    pub cpu: Cpu,
    /// Timer ticks a second.
    pub hz: Option<u32>,
    /// The CPU that was measured; `None` where the scheduler chose.
    pub measured_cpu: Option<u32>,
    /// `/sys/devices/system/cpu/online`.
    pub online: String,
    /// Settings under `/proc/sys` that there are.
    pub sysctls: BTreeMap<String, i64>,
    pub pmus: Vec<Pmu>,
    /// The options of the software PMU, under `overstep emulate`.
    pub emulated: Option<String>,
    /// A process that traced this one: a debugger or strace, which the measurement keeps out.
    pub traced_by: Option<u32>,
}

const SYSCTLS: [&str; 6] = [
    "kernel/perf_event_paranoid",
    "kernel/perf_event_max_sample_rate",
    "kernel/perf_cpu_time_max_percent",
    "kernel/perf_event_mlock_kb",
    "kernel/nmi_watchdog",
    "kernel/watchdog_thresh",
];

impl Machine {
    /// This one.
    #[must_use]
    pub fn here(measured_cpu: Option<u32>) -> Self {
        let read = |path| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        let sysctls = SYSCTLS.iter().filter_map(|name| Some((name.replace('/', "."), sysctl(name)?)));
        Self {
            kernel: read("/proc/sys/kernel/osrelease"),
            cpu: Cpu::read(),
            hz: hz(),
            measured_cpu,
            online: read("/sys/devices/system/cpu/online"),
            sysctls: sysctls.collect(),
            pmus: Pmu::all(),
            traced_by: if emulated().is_some() { None } else { traced_by() },
            emulated: emulated().as_deref().map(model),
        }
    }

    /// `Linux 6.18.44, HZ 250, no PMU`.
    #[must_use]
    pub fn system(&self) -> String {
        let pmus: Vec<_> =
            self.pmus.iter().filter(|pmu| pmu.is_of_cpu()).map(|pmu| pmu.name.as_str()).collect();
        let mut parts = vec![format!("Linux {}", self.kernel)];
        parts.extend(self.hz.map(|hz| format!("HZ {hz}")));
        parts.push(if pmus.is_empty() { "no PMU".to_owned() } else { format!("PMU {}", pmus.join(" and ")) });
        parts.extend(self.measured_cpu.map(|cpu| format!("on CPU {cpu}")));
        parts.extend(
            self.emulated.as_ref().map(|options| format!("emulated PMU {options}").trim_end().to_owned()),
        );
        parts.extend(
            self.traced_by.map(|pid| format!("started under the tracer {pid}, measured outside of it")),
        );
        parts.join(", ")
    }
}

/// Of the emulator's options those of its model.
fn model(options: &str) -> String {
    let of_model = |option: &&str| !matches!(*option, "-q" | "--quiet");
    options.split(' ').filter(of_model).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quiet_is_no_option_of_the_model() {
        assert_eq!(model("-q --skid 3 --quiet"), "--skid 3");
        assert_eq!((model("-q"), model("")), (String::new(), String::new()));
        let under =
            |emulated: &str| Machine { emulated: Some(model(emulated)), ..Machine::default() }.system();
        assert!(
            under("-q").ends_with("emulated PMU") && under("-q --skid 3").ends_with("emulated PMU --skid 3")
        );
    }
}
