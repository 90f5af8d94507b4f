//! Delivery by `O_ASYNC`: which signal an overflow sends, and to which thread (`fcntl(2)`).

#![allow(unsafe_code, reason = "fcntl takes a pointer to the owner")]

use std::os::fd::RawFd;

use crate::raw::{Errno, syscall};

const F_SETFL: u64 = 4;
const F_SETSIG: u64 = 10;
const F_SETOWN_EX: u64 = 15;
/// The id is a thread's, not a process's.
const F_OWNER_TID: i32 = 0;

/// `struct f_owner_ex` (`include/uapi/asm-generic/fcntl.h`).
#[repr(C)]
struct Owner {
    kind: i32,
    id: i32,
}

/// Has `event`'s overflows send `signal` to `thread`, with POLL_IN or POLL_HUP as `si_code`.
///
/// `signal` is to be a real-time one: the kernel queues each, and falls back to plain SIGIO, which kills a
/// process that has no handler for it, only when that queue is full. F_SETOWN of a process would let the
/// signal land in any of its threads.
///
/// # Errors
/// EBADF, or EINVAL for a signal number out of range; ESRCH for a thread that is gone.
///
/// # Signal safety
/// Three system calls without libc.
pub fn direct(event: RawFd, thread: u32, signal: i32) -> Result<(), Errno> {
    let owner = Owner { kind: F_OWNER_TID, id: thread as i32 };
    // Before O_ASYNC: an overflow in between would go to nobody in particular.
    fcntl(event, F_SETOWN_EX, (&raw const owner) as u64)?;
    fcntl(event, F_SETSIG, signal as u64)?;
    fcntl(event, F_SETFL, libc::O_ASYNC as u64)
}

fn fcntl(event: RawFd, command: u64, argument: u64) -> Result<(), Errno> {
    // SAFETY:
    // - F_SETOWN_EX reads one `struct f_owner_ex`, which the caller keeps alive; the others take numbers.
    unsafe { syscall(libc::SYS_fcntl, [event as u64, command, argument, 0, 0, 0]) }.map(drop)
}
