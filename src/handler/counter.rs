//! The instruction counter of one thread: what ran since it was armed, by its own count.

use super::own_event::OwnEvent;
use super::process::Process;
use crate::event::{attr, ioctl};
use crate::raw::Errno;
use crate::record::control::Settings;

/// Comes back in `si_perf_data` with sigtrap delivery.
pub const COUNTER_TAG: u64 = 0x6f76_7374_636e_7472;

/// A counter that is armed by the handler's tail, and by nothing else.
pub(super) struct Counter {
    event: OwnEvent,
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
        Self { event: OwnEvent::none(), base: 0, armed: false, overdue: 0, zero_steps: 0 }
    }

    /// Has the tail arm it.
    ///
    /// # Errors
    /// What perf_event_open(2), fcntl(2) or the ioctl said.
    ///
    /// # Signal safety
    /// Raw system calls.
    pub(super) fn arm(&mut self, process: &Process) -> Result<(), Errno> {
        if !self.event.is_open() {
            let Settings { period, delivery, .. } = process.settings;
            let attr = attr::instructions(attr::Counted::Instructions, period, delivery, COUNTER_TAG);
            self.event.open(&attr, delivery, process.fasync_signal)?;
        }
        self.base = ioctl::count(self.event.fd())?;
        // What an overflow ran over is taken off the next period, unless the period is set anew.
        ioctl::period(self.event.fd(), process.settings.period)?;
        self.armed = true;
        Ok(())
    }

    /// Stops it at the handler's beginning: how many of the program's instructions it has counted since it was armed;
    /// `None` when it was not.
    pub(super) fn stop(&mut self, process: &Process) -> Option<Counted> {
        if !std::mem::take(&mut self.armed) {
            return None;
        }
        let _ = ioctl::disable(self.event.fd());
        let counted = ioctl::count(self.event.fd()).ok()?.wrapping_sub(self.base);
        let overflowed = counted >= process.settings.period;
        if overflowed {
            self.overdue += 1;
        }
        Some(Counted { retired: counted.saturating_sub(process.settings.tail), overflowed })
    }

    /// The descriptor that the tail is to re-arm, or -1.
    pub(super) fn to_arm(&self) -> i32 {
        if self.armed { self.event.fd() } else { -1 }
    }

    /// Takes back what [`Self::arm`] asked for.
    pub(super) fn disarm(&mut self) {
        self.armed = false;
    }

    pub(super) fn close(&mut self) {
        self.event.close();
        *self = Self::closed();
    }
}
