//! Where the figures come from.

#![allow(unsafe_code, reason = "sched_setaffinity(2)")]

use std::fs;

/// Machine, kernel and load, in one line: a figure without them says nothing.
pub fn describe() -> String {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = read("/proc/cpuinfo");
    let field = |name: &str| {
        let mut fields = cpuinfo.lines().filter_map(|line| line.split_once(':'));
        fields.find(|(key, _)| key.trim() == name).map_or("?", |(_, value)| value.trim())
    };
    let cpus = cpuinfo.lines().filter(|line| line.starts_with("processor")).count();
    let guest =
        if field("flags").split(' ').any(|flag| flag == "hypervisor") { "in a VM" } else { "bare metal" };
    let load = read("/proc/loadavg");
    format!(
        "{} (family {}, model {}), {cpus} CPUs, {guest}; Linux {}; load {}; CPU time, minima of interleaved rounds",
        field("model name"),
        field("cpu family"),
        field("model"),
        read("/proc/sys/kernel/osrelease").trim(),
        load.split(' ').next().unwrap_or("?"),
    )
}

/// Keeps this process and its children on the CPU it is on: a debugger and its tracee hand over to each other
/// there, and nobody pays for migrations.
pub fn stay_on_one_cpu() {
    // SAFETY: plain numbers, for which zeros are values.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is ours, and the kernel names a CPU that fits it.
    unsafe { libc::CPU_SET(libc::sched_getcpu().max(0) as usize, &mut set) };
    // SAFETY: 0 is the calling thread, the only one; on failure the bench is noisier, no more.
    unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) };
}
