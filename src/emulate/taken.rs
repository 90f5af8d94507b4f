//! Signals that a program takes off its queue without a delivery: `sigwaitinfo(2)` and `signalfd(2)`.

use std::fs;

use nix::errno::Errno;
use nix::unistd::Pid;

use super::{memory, ptrace, signal};
use crate::address::RuntimeAddr;

/// `siginfo_t` and `struct signalfd_siginfo`, in bytes.
const SIZE: u64 = 128;

/// Whether a descriptor of the thread's is a signalfd.
#[must_use]
pub fn is_signalfd(thread: Pid, descriptor: u64) -> bool {
    fs::read_link(format!("/proc/{thread}/fd/{descriptor}"))
        .is_ok_and(|to| to.as_os_str() == "anon_inode:[signalfd]")
}

/// `rt_sigtimedwait` has ended, with a signal's information at `at`.
///
/// # Errors
/// ESRCH: the thread was killed.
pub fn took_signal(thread: Pid, at: RuntimeAddr) -> Result<(), Errno> {
    if at.0 != 0
        && ptrace::registers(thread)?.rax as i64 > 0
        && let Some(real) = signal::really(memory::read(thread, at)?)
    {
        memory::write(thread, at, &real)?;
    }
    Ok(())
}

/// `read` of a signalfd has ended.
///
/// # Errors
/// ESRCH: the thread was killed.
pub fn took_signals(thread: Pid, at: RuntimeAddr) -> Result<(), Errno> {
    let read = (ptrace::registers(thread)?.rax as i64).max(0) as u64;
    for number in 0..read / SIZE {
        let place = at.plus(number * SIZE);
        if let Some(real) = signal::really_of_signalfd(memory::read(thread, place)?) {
            memory::write(thread, place, &real)?;
        }
    }
    Ok(())
}
