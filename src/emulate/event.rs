//! An emulated event: what `perf_event_open` made, and every descriptor of it shares.

#![allow(unsafe_code, reason = "clock_gettime fills a struct of ours")]

use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::Pid;

use super::attr::{self, Attr, Counted};
use super::instance::Role;
use super::model::{AtLimit, Model};
use super::random::Random;
use super::ring::Ring;

/// An event's place in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(pub usize);

/// What an overflow tells whoever listens (`si_code`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Another one will come.
    PollIn,
    /// The limit that REFRESH set is used up.
    PollHup,
}

/// What an overflow means for the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overflow {
    pub notice: Notice,
    /// It has disabled itself.
    pub ended: bool,
    /// The model swallows its signal.
    pub lost: bool,
}

#[derive(Debug)]
pub struct Event {
    /// As `PERF_EVENT_IOC_ID` tells it.
    pub id: u64,
    pub attr: Attr,
    pub counted: Counted,
    /// The supervisor's duplicate of the program's descriptor, an eventfd.
    pub file: OwnedFd,
    /// `eventfd-id` in `/proc/PID/fdinfo`: no other eventfd has it while `file` is open.
    pub eventfd: u64,
    /// The thread it was opened on, and the one that opened it.
    pub target: Pid,
    pub creator: Pid,
    own: u64,
    inherited: u64,
    /// 0: it only counts.
    pub period: u64,
    /// Overflows until it disables itself; 0: no limit.
    pub limit: u32,
    pub leader: Option<Key>,
    pub siblings: Vec<Key>,
    /// The number under which O_ASYNC was set (`si_fd`).
    pub asynchronous: Option<RawFd>,
    pub random: Random,
    /// The CPU it counts on; -1: any.
    pub cpu: i32,
    pub ring: Option<Ring>,
    /// Whose buffer it writes to instead of its own.
    pub output: Option<Key>,
    enabled: Duration,
    since: Option<Instant>,
    /// Of that time, what it did not count, and when it was last seen to count or not.
    missed: Duration,
    seen: Option<Instant>,
}

impl Event {
    pub fn new(id: u64, attr: Attr, counted: Counted, descriptor: (OwnedFd, u64), model: &Model) -> Self {
        let (file, eventfd) = descriptor;
        Self {
            id,
            attr,
            counted,
            file,
            eventfd,
            target: Pid::from_raw(0),
            creator: Pid::from_raw(0),
            own: 0,
            inherited: 0,
            period: attr::period(&attr),
            limit: 0,
            leader: None,
            siblings: Vec::new(),
            asynchronous: None,
            random: Random::new(model.seed, id),
            cpu: -1,
            ring: None,
            output: None,
            enabled: Duration::ZERO,
            since: None,
            missed: Duration::ZERO,
            seen: None,
        }
    }

    pub fn add(&mut self, role: Role, counted: u64) {
        let count = match role {
            Role::Own => &mut self.own,
            Role::Inherited => &mut self.inherited,
        };
        *count = count.wrapping_add(counted);
    }

    /// The value that `read(2)` gives.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.own.wrapping_add(self.inherited)
    }

    /// `PERF_EVENT_IOC_RESET`: what children have counted stays.
    pub fn reset(&mut self) {
        self.own = 0;
    }

    #[must_use]
    pub fn samples(&self) -> bool {
        self.period != 0
    }

    /// Starts or stops the clock of `PERF_FORMAT_TOTAL_TIME_ENABLED`.
    pub fn clock(&mut self, running: bool) {
        match (running, self.since) {
            (true, None) => self.since = Some(Instant::now()),
            (false, Some(since)) => {
                self.enabled += since.elapsed();
                self.since = None;
            }
            _ => {}
        }
    }

    /// Makes the descriptor readable. As often as it likes: it is read to zero at once.
    pub fn wake(&self) {
        let _ = nix::unistd::write(&self.file, &1u64.to_ne_bytes());
    }

    /// Makes it unreadable again.
    pub fn quiet(&self) {
        let mut ready = [PollFd::new(self.file.as_fd(), PollFlags::POLLIN)];
        if poll(&mut ready, PollTimeout::ZERO) == Ok(1) {
            let _ = nix::unistd::read(&self.file, &mut [0; 8]);
        }
    }

    /// The time of a record, in nanoseconds of `attr.clockid` or of the monotonic clock.
    #[must_use]
    pub fn time(&self) -> u64 {
        let clock = if self.attr.use_clockid() == 1 { self.attr.clockid } else { libc::CLOCK_MONOTONIC };
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `now` is ours to fill; a clock that does not exist leaves it zero.
        unsafe { libc::clock_gettime(clock, &raw mut now) };
        now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
    }

    /// The model lets it count, or not, from the last look to now.
    pub fn note_share(&mut self, counts: bool) {
        let now = Instant::now();
        let Some(since) = self.since else { return };
        if !counts {
            self.missed += now - self.seen.map_or(since, |seen| seen.max(since));
        }
        self.seen = Some(now);
    }

    /// Nanoseconds it was enabled, and it counted.
    #[must_use]
    pub fn times(&self) -> [u64; 2] {
        let running = self.since.map_or(Duration::ZERO, |since| since.elapsed());
        let enabled = self.enabled + running;
        [enabled, enabled.saturating_sub(self.missed)].map(|time| time.as_nanos() as u64)
    }

    /// `__perf_event_overflow` (Linux `kernel/events/core.c`).
    pub fn overflow(&mut self, model: &Model) -> Overflow {
        let ended = self.limit == 1;
        self.limit = self.limit.saturating_sub(1);
        let notice = match model.at_limit {
            AtLimit::PollHup if ended => Notice::PollHup,
            _ => Notice::PollIn,
        };
        let lost = model.lose > 0.0 && self.random.happens(model.lose);
        Overflow { notice, ended, lost }
    }
}
