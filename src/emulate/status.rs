//! What `/proc/PID/status` says about a thread's signals and its process (`proc_pid_status(5)`).

use std::fs;

use nix::unistd::Pid;

/// What a program does about a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// What the kernel does by default, apart from nothing.
    Default,
    /// Nothing: by its own choice, or because that is the default.
    Ignored,
    Caught,
}

/// Signals whose default is to do nothing (`include/linux/signal.h`, SIG_KERNEL_IGNORE_MASK).
const IGNORED_BY_DEFAULT: [i32; 4] = [libc::SIGCHLD, libc::SIGCONT, libc::SIGURG, libc::SIGWINCH];

/// What the program of a thread does about `signal`.
#[must_use]
pub fn disposition(thread: Pid, signal: i32) -> Disposition {
    let text = text(thread);
    let has = |name| mask(&text, name) & 1 << (signal - 1) != 0;
    if has("SigCgt:") {
        Disposition::Caught
    } else if has("SigIgn:") || IGNORED_BY_DEFAULT.contains(&signal) {
        Disposition::Ignored
    } else {
        Disposition::Default
    }
}

/// Whether the program has chosen to ignore `signal`.
#[must_use]
pub fn ignores(thread: Pid, signal: i32) -> bool {
    mask(&text(thread), "SigIgn:") & 1 << (signal - 1) != 0
}

/// Whether `signal` waits in the thread's own queue.
#[must_use]
pub fn is_pending(thread: Pid, signal: i32) -> bool {
    mask(&text(thread), "SigPnd:") & 1 << (signal - 1) != 0
}

/// The process that a thread belongs to.
#[must_use]
pub fn process(thread: Pid) -> Option<Pid> {
    field(thread, "Tgid:")?.parse().ok().map(Pid::from_raw)
}

/// Whether it has ended, and waits to be waited for.
#[must_use]
pub fn is_zombie(thread: Pid) -> bool {
    field(thread, "State:").is_some_and(|state| state.starts_with('Z'))
}

/// The first CPU that it may run on; 0 when that cannot be told.
#[must_use]
pub fn first_cpu(thread: Pid) -> i32 {
    let list = field(thread, "Cpus_allowed_list:").unwrap_or_default();
    let first = list.split([',', '-']).next().unwrap_or_default();
    first.parse().unwrap_or(0)
}

fn text(thread: Pid) -> String {
    fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default()
}

/// A set of signals: bit `n - 1` is signal `n`.
fn mask(text: &str, name: &str) -> u64 {
    value(text, name).and_then(|mask| u64::from_str_radix(mask, 16).ok()).unwrap_or(0)
}

fn value<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

fn field(thread: Pid, name: &str) -> Option<String> {
    value(&text(thread), name).map(str::to_owned)
}
