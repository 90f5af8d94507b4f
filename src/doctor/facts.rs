//! Everything that `overstep doctor` knows, as one value.

use serde::Serialize;

use super::cpu::Cpu;
use super::kernel::Kernel;
use super::mechanisms::Mechanisms;
use super::permissions::Permissions;
use super::pmu::{self, Pmu};
use super::signals::Signals;

/// The layout of the JSON form. Fields may be added under the same number, never renamed.
pub const VERSION: u32 = 1;

/// The facts about this machine and this process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Facts {
    pub version: u32,
    pub overstep: &'static str,
    pub kernel: Kernel,
    pub cpu: Cpu,
    /// Timer ticks a second; throttling goes by them.
    pub hz: Option<u32>,
    /// What the kernel has registered to count with.
    pub pmus: Vec<Pmu>,
    pub permissions: Permissions,
    pub signals: Signals,
    #[serde(flatten)]
    pub mechanisms: Mechanisms,
}

impl Facts {
    /// Reads `/proc` and tries each mechanism once. Never fails and never hangs: what cannot be found out says so.
    #[must_use]
    pub fn collect() -> Self {
        let mechanisms = Mechanisms::probe();
        Self {
            version: VERSION,
            overstep: env!("CARGO_PKG_VERSION"),
            kernel: Kernel::read(&mechanisms),
            cpu: Cpu::read(),
            hz: pmu::hz(),
            pmus: Pmu::all(),
            permissions: Permissions::read(),
            signals: Signals::read(),
            mechanisms,
        }
    }
}
