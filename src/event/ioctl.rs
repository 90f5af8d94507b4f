//! The ioctls of an event's descriptor, and its count (`perf_event_open(2)`, `include/uapi/linux/perf_event.h`).
//!
//! # Signal safety
//! Every function is one system call without libc.

#![allow(unsafe_code, reason = "the arguments are what each ioctl's number says they are")]

use std::num::NonZeroU32;
use std::os::fd::RawFd;

use super::attr::Attr;
use crate::raw::{Errno, syscall};

/// `_IO('$', n)`.
const fn plain(n: u64) -> u64 {
    0x2400 | n
}

/// `_IOW('$', n, size)`; pointers and u64 both have 8 bytes.
const fn writes_eight_bytes(n: u64) -> u64 {
    0x4008_0000 | plain(n)
}

pub const ENABLE: u64 = plain(0);
pub const DISABLE: u64 = plain(1);
/// Adds to the number of overflows left before the event disables itself, and enables it.
pub const REFRESH: u64 = plain(2);
pub const RESET: u64 = plain(3);
pub const PERIOD: u64 = writes_eight_bytes(4);
/// Reads the event's id, which no other event has had since boot.
pub const ID: u64 = 0x8000_0000 | 8 << 16 | plain(7);
/// 4.17; breakpoints only.
pub const MODIFY_ATTRIBUTES: u64 = writes_eight_bytes(11);

/// Lets the event count.
///
/// # Errors
/// EBADF for a descriptor that the program closed.
#[inline(always)]
pub fn enable(event: RawFd) -> Result<(), Errno> {
    call(event, ENABLE, 0)
}

/// Stops the event; it keeps its count.
///
/// # Errors
/// EBADF for a descriptor that the program closed.
#[inline(always)]
pub fn disable(event: RawFd) -> Result<(), Errno> {
    call(event, DISABLE, 0)
}

/// Sets the count to zero. The overflow limit and the period's remainder stay as they are.
///
/// # Errors
/// EBADF for a descriptor that the program closed.
#[inline(always)]
pub fn reset(event: RawFd) -> Result<(), Errno> {
    call(event, RESET, 0)
}

/// Allows `overflows` more and enables the event.
///
/// Zero cannot be asked for: it acts as a plain enable with whatever limit is left, which the man page calls
/// undefined.
///
/// # Errors
/// EINVAL on an inherited or non-sampling event.
#[inline(always)]
pub fn refresh(event: RawFd, overflows: NonZeroU32) -> Result<(), Errno> {
    call(event, REFRESH, u64::from(overflows.get()))
}

/// Sets the number of occurrences between overflows and starts counting towards the next one anew.
///
/// # Errors
/// EINVAL for a period below what this CPU can do (32, 128 or 144 on some), or above 2^63.
#[inline(always)]
pub fn period(event: RawFd, period: u64) -> Result<(), Errno> {
    call(event, PERIOD, (&raw const period) as u64)
}

/// Moves a breakpoint to where `attr` points, and leaves it enabled or not as `attr` says.
///
/// # Errors
/// EINVAL when anything but the address, type, length, `disabled` or `sig_data` differs; ENOSYS before 4.17.
#[inline(always)]
pub fn modify(event: RawFd, attr: &Attr) -> Result<(), Errno> {
    call(event, MODIFY_ATTRIBUTES, std::ptr::from_ref(attr) as u64)
}

/// The event's id.
///
/// # Errors
/// ENOTTY for a descriptor of anything else, EBADF for none.
#[inline(always)]
pub fn id(event: RawFd) -> Result<u64, Errno> {
    let mut id = 0u64;
    // SAFETY:
    // - the kernel writes exactly these 8 bytes.
    unsafe { syscall(libc::SYS_ioctl, [event as u64, ID, (&raw mut id) as u64, 0, 0, 0]) }?;
    Ok(id)
}

/// How often the event has occurred: hits of a breakpoint, those behind a blocked signal included.
///
/// # Errors
/// EBADF for a descriptor that the program closed.
#[inline(always)]
pub fn count(event: RawFd) -> Result<u64, Errno> {
    let mut value = 0u64;
    // SAFETY:
    // - without a `read_format` (none of ours has one) the kernel writes exactly these 8 bytes.
    unsafe { syscall(libc::SYS_read, [event as u64, (&raw mut value) as u64, 8, 0, 0, 0]) }?;
    Ok(value)
}

#[inline(always)]
fn call(event: RawFd, request: u64, argument: u64) -> Result<(), Errno> {
    // SAFETY:
    // - the callers pass a number, or a pointer to a live value of the size their request states;
    // - the kernel only reads through it.
    unsafe { syscall(libc::SYS_ioctl, [event as u64, request, argument, 0, 0, 0]) }.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_kernel_header() {
        use perf_event_open_sys::bindings as sys;
        let header =
            [sys::ENABLE, sys::DISABLE, sys::REFRESH, sys::RESET, sys::PERIOD, sys::MODIFY_ATTRIBUTES];
        assert_eq!([ENABLE, DISABLE, REFRESH, RESET, PERIOD, MODIFY_ATTRIBUTES], header.map(u64::from));
    }
}
