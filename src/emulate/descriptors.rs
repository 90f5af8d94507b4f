//! From a program's descriptor to the event behind it.
//!
//! Nothing is remembered about descriptors: programs duplicate, close, inherit and pass them on in many ways, and the
//! kernel knows. `/proc/PID/fdinfo/N` names the eventfd (Linux 5.2), and the supervisor's own duplicate keeps that
//! name from being used again.

#![allow(unsafe_code, reason = "pidfd_open and pidfd_getfd have no safe binding")]

use std::fs;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::unistd::Pid;

/// The id of the eventfd that `descriptor` of `thread` is; `None` for anything else.
#[must_use]
pub fn eventfd(thread: Pid, descriptor: RawFd) -> Option<u64> {
    if descriptor < 0 {
        return None;
    }
    let text = fs::read_to_string(format!("/proc/{thread}/fdinfo/{descriptor}")).ok()?;
    let id = text.lines().find_map(|line| line.strip_prefix("eventfd-id:"))?;
    id.trim().parse().ok()
}

/// The ids of all eventfds that a process has open.
#[must_use]
pub fn eventfds(process: Pid) -> Vec<u64> {
    let Ok(entries) = fs::read_dir(format!("/proc/{process}/fd")) else { return Vec::new() };
    entries
        .flatten()
        .filter(|entry| fs::read_link(entry.path()).is_ok_and(|to| to.as_os_str() == "anon_inode:[eventfd]"))
        .filter_map(|entry| eventfd(process, entry.file_name().to_str()?.parse().ok()?))
        .collect()
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
