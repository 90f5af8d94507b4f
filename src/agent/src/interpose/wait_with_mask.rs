//! Functions that wait with another signal mask: the tracer's signals are left out of it, and the program is told what it
//! believes.
//!
//! Cancellation points: nothing here may have to be dropped while the real function waits.

use std::ffi::{c_int, c_void};

use super::errno::failed;
use crate::armed;

type Mask = *const libc::sigset_t;
type Time = *const libc::timespec;
type Set = *mut c_void;

mod real {
    use super::{Mask, Set, Time, c_int, c_void};
    crate::real!(pub fn sigsuspend(mask: Mask) -> c_int);
    crate::real!(pub fn ppoll(fds: *mut c_void, count: libc::nfds_t, timeout: Time, mask: Mask) -> c_int);
    crate::real!(pub fn __ppoll_chk(fds: *mut c_void, count: libc::nfds_t, timeout: Time, mask: Mask, size: usize) -> c_int);
    crate::real!(pub fn pselect(count: c_int, read: Set, write: Set, except: Set, timeout: Time, mask: Mask) -> c_int);
    crate::real!(pub fn epoll_pwait(fd: c_int, events: *mut c_void, most: c_int, timeout: c_int, mask: Mask) -> c_int);
}

/// # Safety
/// As sigsuspend(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigsuspend(mask: Mask) -> c_int {
    // SAFETY: the caller's arguments, passed on.
    unsafe { with(mask, |mask| real::sigsuspend(mask)) }
}

/// # Safety
/// As ppoll(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ppoll(fds: *mut c_void, count: libc::nfds_t, timeout: Time, mask: Mask) -> c_int {
    // SAFETY: the caller's arguments, passed on.
    unsafe { with(mask, |mask| real::ppoll(fds, count, timeout, mask)) }
}

/// # Safety
/// As ppoll(2), `size` being that of the array in bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __ppoll_chk(
    fds: *mut c_void,
    count: libc::nfds_t,
    timeout: Time,
    mask: Mask,
    size: usize,
) -> c_int {
    // SAFETY: the caller's arguments, passed on.
    unsafe { with(mask, |mask| real::__ppoll_chk(fds, count, timeout, mask, size)) }
}

/// # Safety
/// As pselect(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pselect(
    count: c_int,
    read: Set,
    write: Set,
    except: Set,
    timeout: Time,
    mask: Mask,
) -> c_int {
    // SAFETY: the caller's arguments, passed on.
    unsafe { with(mask, |mask| real::pselect(count, read, write, except, timeout, mask)) }
}

/// # Safety
/// As epoll_pwait(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn epoll_pwait(
    fd: c_int,
    events: *mut c_void,
    most: c_int,
    timeout: c_int,
    mask: Mask,
) -> c_int {
    // SAFETY: the caller's arguments, passed on.
    unsafe { with(mask, |mask| real::epoll_pwait(fd, events, most, timeout, mask)) }
}

/// Calls `wait` with `mask`, but for the tracer's signals. One that the mask lets through and that has come already
/// interrupts the wait before it begins.
///
/// # Safety
/// `mask` is null or the caller's.
unsafe fn with(mask: Mask, wait: impl FnOnce(Mask) -> c_int) -> c_int {
    // SAFETY: the caller's promise; the kernel's set is the first eight bytes.
    let wanted = unsafe { mask.cast::<u64>().as_ref() };
    let Some((process, wanted)) = armed::process().zip(wanted.copied()) else { return wait(mask) };
    let Some((believed, interrupted)) = process.begin_wait(wanted) else { return wait(mask) };
    let result = if interrupted {
        failed(libc::EINTR)
    } else {
        // As long as a sigset_t, of which the functions read no more than the kernel's part.
        let mut own = [0_u64; size_of::<libc::sigset_t>() / size_of::<u64>()];
        own[0] = wanted & !process.signals.owned();
        wait(own.as_ptr().cast())
    };
    process.end_wait(believed);
    result
}
