//! The counter of one thread that the `instructions` engine steps with: what ran since it was armed, by its own count.

use super::own_event::OwnEvent;
use super::process::Process;
use crate::address::RuntimeAddr;
use crate::event::attr;
use crate::event::ioctl::{self, Reading};
use crate::event::tail::{self, NOTHING, Tail};
use crate::raw::Errno;
use crate::record::counted::Counting;

/// Comes back in `si_perf_data` with sigtrap delivery.
pub const COUNTER_TAG: u64 = 0x6f76_7374_636e_7472;

/// A period that no handler's beginning lasts.
const NO_PERIOD: u64 = 1 << 40;

/// A counter that is armed by the handler's tail, and by nothing else.
pub(super) struct Counter {
    event: OwnEvent,
    /// What it had when it was armed.
    base: Reading,
    /// The tail has armed it, or is about to.
    armed: bool,
    /// Counts from arming to the overflow, the tail's included.
    period: u64,
    limit: Limit,
    /// Its overflow came while another signal was being taken: the counter's own is to come at once.
    overdue: bool,
    /// Overflows in a row after which nothing had retired.
    pub(super) zero_steps: u64,
    /// A breakpoint's stop that comes again, to measure what the handler's beginning adds to the count.
    pub(super) again: Option<Again>,
}

/// A stop that came before the counter's, and is repeated in place.
#[derive(Clone, Copy)]
pub(super) struct Again {
    pub(super) at: RuntimeAddr,
    /// What the first stop found.
    pub(super) first: Counted,
    /// The counter's signal has come since: it had been held back by the handler of the first stop.
    pub(super) signalled: bool,
}

/// What was counted from arming to a stop, in counts of the event.
#[derive(Clone, Copy)]
pub(super) struct Counted {
    /// Of the program; of a stop that another signal took while the counter ran, of the handler's beginning, too.
    pub(super) retired: u64,
    /// The period is over: a signal has come or is to come.
    pub(super) overflowed: bool,
    pub(super) counter: State,
    /// Thousandths of the time in which it counted, where that was not all of it.
    pub(super) partly: Option<u64>,
}

/// How a stop finds the counter.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It counted up to the handler.
    Running,
    /// An overflow had stopped it.
    Stopped,
}

/// What is left of the overflows that REFRESH has allowed: nothing sets them back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Limit {
    UsedUp,
    /// It was stopped before its overflow.
    OneLeft,
    /// It was stopped when its overflow was due: whether that came, nobody can say.
    Unknown,
}

/// Whose signal is being taken.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    Counters,
    Anothers,
}

impl Counter {
    pub(super) const fn closed() -> Self {
        Self {
            event: OwnEvent::none(),
            base: Reading { count: 0, enabled: 0, running: 0 },
            armed: false,
            period: 0,
            limit: Limit::UsedUp,
            overdue: false,
            zero_steps: 0,
            again: None,
        }
    }

    /// Has the tail arm it; while a signal of its own is overdue, that signal's stop is to do it, because its handler's
    /// beginning would be counted, and overflow for ever.
    ///
    /// # Errors
    /// What perf_event_open(2), fcntl(2) or the ioctl said; EBUSY where the PMU had no counter left.
    ///
    /// # Signal safety
    /// Raw system calls.
    pub(super) fn arm(&mut self, process: &Process) -> Result<(), Errno> {
        if self.overdue {
            return Ok(());
        }
        self.arm_for(process, process.settings.counting.period)
    }

    /// Has the tail arm it without an overflow, to count the beginning of a handler that is entered again at once.
    ///
    /// # Errors
    /// As [`Self::arm`].
    ///
    /// # Signal safety
    /// Raw system calls.
    pub(super) fn arm_to_measure(&mut self, process: &Process, again: Again) -> Result<(), Errno> {
        self.arm_for(process, NO_PERIOD)?;
        self.again = Some(again);
        Ok(())
    }

    fn arm_for(&mut self, process: &Process, period: u64) -> Result<(), Errno> {
        if self.limit == Limit::Unknown {
            self.event.close();
        }
        if !self.event.is_open() {
            self.limit = Limit::UsedUp;
            let Counting { event, period, .. } = process.settings.counting;
            let delivery = process.settings.delivery;
            let attr = attr::stepping_counter(event, period, delivery, COUNTER_TAG);
            self.event.open(&attr, delivery, process.fasync_signal)?;
        }
        self.base = ioctl::reading(self.event.fd())?;
        // What an overflow ran over is taken off the next period, unless the period is set anew.
        ioctl::period(self.event.fd(), period)?;
        self.period = period;
        self.armed = true;
        Ok(())
    }

    /// Stops it at the handler's beginning: what it has counted since it was armed; `None` when it was not.
    pub(super) fn stop(&mut self, process: &Process, taken: Taken) -> Option<Counted> {
        if taken == Taken::Counters {
            self.overdue = false;
        }
        if !std::mem::take(&mut self.armed) {
            return None;
        }
        let fd = self.event.fd();
        self.limit = Limit::Unknown;
        let (reading, state) = match taken {
            Taken::Counters => {
                let _ = ioctl::disable(fd);
                (ioctl::reading(fd).ok()?, State::Stopped)
            }
            // Two readings tell whether it still counts: the second call at least is counted.
            Taken::Anothers => {
                let reading = ioctl::reading(fd).ok()?;
                let _ = ioctl::disable(fd);
                let last = ioctl::reading(fd).ok()?;
                let state = if last.count == reading.count { State::Stopped } else { State::Running };
                if last.since(&self.base).count < self.period {
                    self.limit = Limit::OneLeft;
                }
                let overflowed = state == State::Stopped && last.since(&self.base).count >= self.period;
                self.overdue = overflowed && process.awaits_overflow();
                (reading, state)
            }
        };
        let since = reading.since(&self.base);
        if state == State::Stopped {
            self.limit = if since.count < self.period { Limit::OneLeft } else { Limit::UsedUp };
        }
        let Counting { tail, period, .. } = process.settings.counting;
        Some(Counted {
            retired: since.count.saturating_sub(tail),
            overflowed: since.count >= period,
            counter: state,
            partly: since.per_mille_counted(),
        })
    }

    /// A SIGTRAP of the program's has come. It does not queue: where it waited first, it has taken the place of an overdue
    /// one of the counter's, whose stop this is then.
    pub(super) fn came_instead(&mut self) -> bool {
        !self.armed && std::mem::take(&mut self.overdue)
    }

    /// What the tail is to re-arm.
    pub(super) fn to_arm(&self) -> Tail {
        match self.limit {
            _ if !self.armed => NOTHING,
            Limit::OneLeft => tail::enable(self.event.fd()),
            Limit::UsedUp | Limit::Unknown => tail::refresh(self.event.fd()),
        }
    }

    /// A call begins: whatever was to come has come.
    pub(super) fn start(&mut self) {
        (self.overdue, self.zero_steps) = (false, 0);
    }

    /// Takes back what [`Self::arm`] asked for.
    pub(super) fn disarm(&mut self) {
        self.armed = false;
        self.again = None;
    }

    pub(super) fn close(&mut self) {
        self.event.close();
        *self = Self::closed();
    }
}
