//! What this process may do.

use serde::Serialize;

use crate::event::environment::{
    CAP_PERFMON, CAP_SYS_ADMIN, CAP_SYS_PTRACE, Environment, Seccomp, Status, emulated, sysctl, traced_by,
};

/// Settings and privileges; `None` where the kernel has no such setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Permissions {
    pub perf_event_paranoid: Option<i64>,
    /// Hardware overflows a second before the kernel throttles.
    pub perf_event_max_sample_rate: Option<i64>,
    /// `off`, `strict`, `filter` or `unknown`.
    pub seccomp: &'static str,
    pub cap_perfmon: bool,
    pub cap_sys_admin: bool,
    pub cap_sys_ptrace: bool,
    /// Yama's setting; `None` without Yama. Only the emulator uses ptrace.
    pub ptrace_scope: Option<i64>,
    /// The process that traces this one: it sees every SIGTRAP first. The supervisor of `overstep emulate`, which does
    /// not, is none.
    pub traced_by: Option<u32>,
    /// The options of the `overstep emulate` that this runs under.
    pub emulated: Option<String>,
    /// RLIMIT_NOFILE, soft.
    pub descriptors: u64,
}

impl Permissions {
    pub(super) fn read() -> Self {
        let environment = Environment::read();
        let status = Status::of_this_thread();
        let emulated = emulated();
        Self {
            perf_event_paranoid: environment.paranoid,
            perf_event_max_sample_rate: sysctl("kernel/perf_event_max_sample_rate"),
            seccomp: match environment.seccomp {
                Seccomp::Off => "off",
                Seccomp::Strict => "strict",
                Seccomp::Filter => "filter",
                Seccomp::Unknown => "unknown",
            },
            cap_perfmon: status.capable(CAP_PERFMON),
            cap_sys_admin: status.capable(CAP_SYS_ADMIN),
            cap_sys_ptrace: status.capable(CAP_SYS_PTRACE),
            ptrace_scope: sysctl("kernel/yama/ptrace_scope"),
            traced_by: if emulated.is_some() { None } else { traced_by() },
            emulated,
            descriptors: environment.descriptors,
        }
    }
}
