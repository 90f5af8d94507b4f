//! `perf_event_open(2)`, raw for the handler and explained for everyone else.

#![allow(unsafe_code, reason = "perf_event_open has no safe binding")]

use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use super::attr::Attr;
use super::error::{OpenError, Wanted};
use crate::raw::{Errno, syscall};

/// Close-on-exec: the program's children get no descriptor of ours.
const PERF_FLAG_FD_CLOEXEC: u64 = 8;
const ANY_CPU: u64 = -1i64 as u64;
const NO_GROUP: u64 = -1i64 as u64;

/// Opens an event on `thread` (0: the calling one), on whatever CPU it runs.
///
/// # Errors
/// A [`OpenError`] that names the errno, its cause on this machine and the next command.
pub fn open(attr: &Attr, wanted: Wanted, thread: u32) -> Result<OwnedFd, OpenError> {
    let descriptor = raw(attr, thread).map_err(|errno| OpenError::here(errno, wanted))?;
    // SAFETY:
    // - the kernel has just made this descriptor, and nobody else knows of it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Opens an event on `thread` (0: the calling one): the descriptor, or the errno alone.
///
/// # Errors
/// The errno as it comes: `perf_event_open(2)`, ERRORS. [`OpenError::here`] explains it, outside a handler.
///
/// # Signal safety
/// One system call without libc.
#[inline(always)]
pub fn raw(attr: &Attr, thread: u32) -> Result<RawFd, Errno> {
    let arguments =
        [std::ptr::from_ref(attr) as u64, u64::from(thread), ANY_CPU, NO_GROUP, PERF_FLAG_FD_CLOEXEC, 0];
    // SAFETY:
    // - the struct is live and `attr.size` is its size. The kernel writes to it only to correct a wrong size,
    //   with E2BIG; ours is right, and a kernel that knows fewer fields finds those beyond zero.
    unsafe { syscall(libc::SYS_perf_event_open, arguments) }.map(|descriptor| descriptor as RawFd)
}
