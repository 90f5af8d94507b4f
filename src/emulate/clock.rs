//! How long an event was enabled, and counted: of a thread's event only while the thread runs (`kernel/events/core.c`,
//! `perf_event_update_time`).

use std::fs;
use std::time::Duration;

use nix::unistd::Pid;

/// What an event's clocks do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Running {
    #[default]
    Off,
    /// Enabled, but not counting: on another CPU, or not on the PMU.
    Enabled,
    Counting,
}

/// The clocks of an event in one thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock {
    enabled: Duration,
    counted: Duration,
    running: Running,
    /// In the thread's time.
    since: Duration,
}

impl Clock {
    /// From now on, which is `now` in the thread's time, it is `running`.
    pub fn set(&mut self, running: Running, now: Duration) {
        [self.enabled, self.counted] = self.at(now);
        (self.running, self.since) = (running, now);
    }

    /// Takes over what another has, which has stopped.
    pub fn add(&mut self, other: &Self) {
        self.enabled += other.enabled;
        self.counted += other.counted;
    }

    #[must_use]
    pub const fn running(&self) -> Running {
        self.running
    }

    /// How long it was enabled, and counted.
    #[must_use]
    pub fn at(&self, now: Duration) -> [Duration; 2] {
        let passed = now.saturating_sub(self.since);
        match self.running {
            Running::Off => [self.enabled, self.counted],
            Running::Enabled => [self.enabled + passed, self.counted],
            Running::Counting => [self.enabled + passed, self.counted + passed],
        }
    }
}

/// How long a thread has been on a CPU (`/proc/PID/schedstat`); `None` when it is gone.
#[must_use]
pub fn time_of(thread: Pid) -> Option<Duration> {
    let text = fs::read_to_string(format!("/proc/{thread}/schedstat")).ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_counts_what_its_thread_has_run() {
        let ns = Duration::from_nanos;
        let mut clock = Clock::default();
        clock.set(Running::Counting, ns(10));
        assert_eq!(clock.at(ns(15)), [ns(5), ns(5)]);
        clock.set(Running::Enabled, ns(20));
        assert_eq!(clock.at(ns(30)), [ns(20), ns(10)]);
        clock.set(Running::Off, ns(40));
        assert_eq!(clock.at(ns(90)), [ns(30), ns(10)]);
        // A thread that is gone has no time any more.
        assert_eq!(clock.at(ns(0)), [ns(30), ns(10)]);
    }
}
