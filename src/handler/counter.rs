//! The instruction counter of one thread: what ran since it was armed, by its own count.

use super::process::Process;
use crate::event::{attr, fasync, ioctl, open};
use crate::raw::{Errno, gettid, syscall};
use crate::record::control::Delivery;

/// Comes back in `si_perf_data` with sigtrap delivery.
pub const COUNTER_TAG: u64 = 0x6f76_7374_636e_7472;

/// A counter that is armed by the handler's tail, and by nothing else.
pub(super) struct Counter {
    fd: i32,
    id: u64,
    /// What it had when it was armed.
    base: u64,
    /// The tail has armed it, or is about to.
    armed: bool,
    /// Overflows whose signal is still to come, though the stop was taken by another one.
    pub(super) overdue: u32,
    /// Overflows in a row after which nothing had retired.
    pub(super) zero_steps: u64,
}

/// What was counted from arming to a stop.
#[derive(Clone, Copy)]
pub(super) struct Counted {
    /// Instructions of the program.
    pub(super) retired: u64,
    /// The period is over: a signal has come or is to come.
    pub(super) overflowed: bool,
}

impl Counter {
    pub(super) const fn closed() -> Self {
        Self { fd: -1, id: 0, base: 0, armed: false, overdue: 0, zero_steps: 0 }
    }

    /// Has the tail arm it.
    ///
    /// # Errors
    /// What perf_event_open(2), fcntl(2) or the ioctl said.
    ///
    /// # Signal safety
    /// Raw system calls.
    pub(super) fn arm(&mut self, process: &Process) -> Result<(), Errno> {
        if self.fd < 0 || ioctl::id(self.fd) != Ok(self.id) {
            self.open(process)?;
        }
        self.base = ioctl::count(self.fd)?;
        // What an overflow ran over is taken off the next period, unless the period is set anew.
        ioctl::period(self.fd, process.settings.period)?;
        self.armed = true;
        Ok(())
    }

    /// Stops it at the handler's beginning: how many of the program's instructions it has counted since it was armed;
    /// `None` when it was not.
    pub(super) fn stop(&mut self, process: &Process) -> Option<Counted> {
        if !std::mem::take(&mut self.armed) {
            return None;
        }
        let _ = ioctl::disable(self.fd);
        let counted = ioctl::count(self.fd).ok()?.wrapping_sub(self.base);
        let overflowed = counted >= process.settings.period;
        if overflowed {
            self.overdue += 1;
        }
        Some(Counted { retired: counted.saturating_sub(process.settings.tail), overflowed })
    }

    /// The descriptor that the tail is to re-arm, or -1.
    pub(super) fn to_arm(&self) -> i32 {
        if self.armed { self.fd } else { -1 }
    }

    /// Takes back what [`Self::arm`] asked for.
    pub(super) fn disarm(&mut self) {
        self.armed = false;
    }

    pub(super) fn close(&mut self) {
        if self.fd >= 0 && ioctl::id(self.fd) == Ok(self.id) {
            close(self.fd);
        }
        *self = Self::closed();
    }

    fn open(&mut self, process: &Process) -> Result<(), Errno> {
        let delivery = process.settings.delivery;
        let event =
            attr::instructions(attr::Counted::Instructions, process.settings.period, delivery, COUNTER_TAG);
        self.fd = super::perf::out_of_the_way(open::raw(&event, 0)?);
        let prepared = ioctl::id(self.fd).and_then(|id| {
            self.id = id;
            match delivery {
                Delivery::Fasync => fasync::direct(self.fd, gettid(), process.fasync_signal),
                _ => Ok(()),
            }
        });
        prepared.inspect_err(|_| {
            close(self.fd);
            self.fd = -1;
        })
    }
}

#[allow(unsafe_code, reason = "a raw system call")]
fn close(fd: i32) {
    // SAFETY: a descriptor of ours, as the caller has made sure.
    let _ = unsafe { syscall(libc::SYS_close, [fd as u64, 0, 0, 0, 0, 0]) };
}
