//! Starting a fasync breakpoint, and starting it again after a stop, in each of the ways that some kernel needs.
//!
//! The probes and the handler both call these, so what was probed is what runs.
//!
//! # Signal safety
//! System calls without libc, nothing else.

use std::num::NonZeroU32;
use std::os::fd::RawFd;

use super::ioctl;
use crate::raw::Errno;
use crate::record::control::Rearm;

const ONE: NonZeroU32 = NonZeroU32::MIN;
const TWO: NonZeroU32 = ONE.saturating_add(1);

/// In the order they are tried: the one that stops the event by itself first, then those that must not be
/// overtaken by a second overflow.
pub const ALL: [Rearm; 4] =
    [Rearm::Refresh, Rearm::RefreshPeriod, Rearm::KeepAboveZero, Rearm::DisableEnable];

/// Arms a breakpoint that was opened disabled.
///
/// # Errors
/// The errno of the ioctl that failed.
#[inline(always)]
pub fn start(event: RawFd, rearm: Rearm) -> Result<(), Errno> {
    match rearm {
        Rearm::Refresh | Rearm::RefreshPeriod => ioctl::refresh(event, ONE),
        Rearm::KeepAboveZero => ioctl::refresh(event, TWO),
        Rearm::DisableEnable => ioctl::enable(event),
    }
}

/// Arms it again, after the stop and after any move.
///
/// # Errors
/// The errno of the ioctl that failed; the event is then disabled.
#[inline(always)]
pub fn again(event: RawFd, rearm: Rearm) -> Result<(), Errno> {
    match rearm {
        Rearm::Refresh | Rearm::KeepAboveZero => ioctl::refresh(event, ONE),
        Rearm::RefreshPeriod => {
            ioctl::refresh(event, ONE)?;
            // From 6.16.8 on the limit leaves the event marked as stopped; setting a period clears that.
            ioctl::period(event, 1)
        }
        Rearm::DisableEnable => {
            ioctl::disable(event)?;
            ioctl::enable(event)
        }
    }
}
