//! From a program's descriptor to the event behind it.
//!
//! Nothing is remembered about descriptors: programs duplicate, close, inherit and pass them on in many ways, and the
//! kernel knows. An event is the reading end of a pipe, and `/proc/PID/fd/N` names the pipe; the supervisor's own duplicate
//! keeps that name from being used again.

#![allow(unsafe_code, reason = "pidfd_open and pidfd_getfd have no safe binding")]

use std::fs;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;

use nix::errno::Errno;
use nix::unistd::Pid;

/// The number of the pipe that `descriptor` of `thread` is an end of; `None` for anything else.
#[must_use]
pub fn pipe(thread: Pid, descriptor: RawFd) -> Option<u64> {
    if descriptor < 0 {
        return None;
    }
    number_of(&fs::read_link(format!("/proc/{thread}/fd/{descriptor}")).ok()?)
}

/// The numbers of all pipes that a process has open.
#[must_use]
pub fn pipes(process: Pid) -> Vec<u64> {
    let Ok(entries) = fs::read_dir(format!("/proc/{process}/fd")) else { return Vec::new() };
    entries.flatten().filter_map(|entry| number_of(&fs::read_link(entry.path()).ok()?)).collect()
}

#[must_use]
pub fn is_open(thread: Pid, descriptor: RawFd) -> bool {
    fs::read_link(format!("/proc/{thread}/fd/{descriptor}")).is_ok()
}

/// Whether a descriptor is an event of the real kernel's.
#[must_use]
pub fn is_real_event(thread: Pid, descriptor: RawFd) -> bool {
    fs::read_link(format!("/proc/{thread}/fd/{descriptor}"))
        .is_ok_and(|to| to.as_os_str() == "anon_inode:[perf_event]")
}

fn number_of(link: &Path) -> Option<u64> {
    link.to_str()?.strip_prefix("pipe:[")?.strip_suffix(']')?.parse().ok()
}

/// A duplicate of `descriptor` of `process` in this one.
///
/// # Errors
/// ENOSYS before Linux 5.6; EPERM, where ptrace itself would be refused.
pub fn duplicate(process: Pid, descriptor: RawFd) -> Result<OwnedFd, Errno> {
    let own = |result: libc::c_long| {
        // SAFETY: the kernel has just made this descriptor for us.
        Errno::result(result).map(|descriptor| unsafe { OwnedFd::from_raw_fd(descriptor as RawFd) })
    };
    // SAFETY: pidfd_open takes numbers.
    let handle = own(unsafe { libc::syscall(libc::SYS_pidfd_open, process.as_raw(), 0) })?;
    // SAFETY: pidfd_getfd takes numbers.
    own(unsafe { libc::syscall(libc::SYS_pidfd_getfd, handle.as_raw_fd(), descriptor, 0) })
}
