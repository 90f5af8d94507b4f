//! What `/proc/PID/status` says about a thread's signals and its process (`proc_pid_status(5)`).

use std::fs;

use nix::unistd::Pid;

/// Whether the program has a handler for `signal`.
#[must_use]
pub fn catches(thread: Pid, signal: i32) -> bool {
    has(thread, "SigCgt:", signal)
}

/// Whether the program ignores `signal`.
#[must_use]
pub fn ignores(thread: Pid, signal: i32) -> bool {
    has(thread, "SigIgn:", signal)
}

/// The process that a thread belongs to.
#[must_use]
pub fn process(thread: Pid) -> Option<Pid> {
    field(thread, "Tgid:")?.parse().ok().map(Pid::from_raw)
}

/// The first CPU that it may run on; 0 when that cannot be told.
#[must_use]
pub fn first_cpu(thread: Pid) -> i32 {
    let list = field(thread, "Cpus_allowed_list:").unwrap_or_default();
    let first = list.split([',', '-']).next().unwrap_or_default();
    first.parse().unwrap_or(0)
}

fn has(thread: Pid, name: &str, signal: i32) -> bool {
    let mask = field(thread, name).and_then(|mask| u64::from_str_radix(&mask, 16).ok());
    mask.unwrap_or(0) & 1 << (signal - 1) != 0
}

fn field(thread: Pid, name: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    text.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned())
}
