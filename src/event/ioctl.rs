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

/// What a counter of [`super::attr::stepping_counter`] says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    pub count: u64,
    /// Nanoseconds it was enabled, and it was on the PMU.
    pub enabled: u64,
    pub running: u64,
}

/// Reads a counter of [`super::attr::stepping_counter`].
///
/// # Errors
/// EBADF for a descriptor that the program closed. EBUSY where no counter was free for a pinned event: it reads as end
/// of file (`perf_event_open(2)`, "pinned").
#[inline(always)]
pub fn reading(event: RawFd) -> Result<Reading, Errno> {
    let mut words = [0u64; 3];
    // SAFETY:
    // - with that `read_format` the kernel writes these 24 bytes, or nothing.
    let read = unsafe { syscall(libc::SYS_read, [event as u64, words.as_mut_ptr() as u64, 24, 0, 0, 0]) }?;
    let [count, enabled, running] = words;
    if read == 0 { Err(Errno(libc::EBUSY)) } else { Ok(Reading { count, enabled, running }) }
}

impl Reading {
    /// What has come since `before`.
    #[must_use]
    pub const fn since(&self, before: &Self) -> Self {
        Self {
            count: self.count.wrapping_sub(before.count),
            enabled: self.enabled.wrapping_sub(before.enabled),
            running: self.running.wrapping_sub(before.running),
        }
    }

    /// Thousandths of the time enabled in which it counted; `None` where that was all of it, as far as two stops can
    /// tell. The kernel shares counters out by the tick, which is some thousand steps: a counter that was not there has
    /// missed most of a step, and less than half of one is the kernel's own bookkeeping.
    #[must_use]
    pub const fn per_mille_counted(&self) -> Option<u64> {
        let missed = self.enabled.saturating_sub(self.running);
        if missed.saturating_mul(2) > self.enabled {
            self.running.saturating_mul(1000).checked_div(self.enabled)
        } else {
            None
        }
    }
}

/// How often the event has occurred: hits of a breakpoint, those behind a blocked signal included.
///
/// # Errors
/// EBADF for a descriptor that the program closed.
#[inline(always)]
pub fn count(event: RawFd) -> Result<u64, Errno> {
    let mut value = 0u64;
    // SAFETY:
    // - without a `read_format` (only a counter to step with has one) the kernel writes exactly these 8 bytes.
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
    fn a_counter_that_was_not_there_is_told_from_one_that_was() {
        let step = |enabled, running| Reading { count: 0, enabled, running }.per_mille_counted();
        assert_eq!(step(4_000, 4_000), None);
        assert_eq!(step(4_000, 3_700), None, "the kernel's clocks are not read at one moment");
        assert_eq!(step(4_000_000, 4_000), Some(1), "it shared, or was taken off the PMU");
        assert_eq!(step(4_000, 0), Some(0), "a core type on which it does not count");
        assert_eq!(step(0, 0), None);
        assert_eq!(step(5, 9), None);
        let base = Reading { count: 7, enabled: 100, running: 90 };
        let now = Reading { count: 9, enabled: 160, running: 150 };
        assert_eq!(now.since(&base), Reading { count: 2, enabled: 60, running: 60 });
    }

    #[test]
    fn numbers_are_those_of_the_kernel_header() {
        use perf_event_open_sys::bindings as sys;
        let header =
            [sys::ENABLE, sys::DISABLE, sys::REFRESH, sys::RESET, sys::PERIOD, sys::MODIFY_ATTRIBUTES];
        assert_eq!([ENABLE, DISABLE, REFRESH, RESET, PERIOD, MODIFY_ATTRIBUTES], header.map(u64::from));
    }
}
