//! An emulated event: what `perf_event_open` made, and every descriptor of it shares.

#![allow(unsafe_code, reason = "clock_gettime fills a struct of ours")]

use std::collections::BTreeMap;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::time::Duration;

use nix::fcntl::{OFlag, open};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::stat::Mode;
use nix::unistd::Pid;

use super::attr::{self, Attr, Counted};
use super::clock::{Clock, Running, time_of};
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

/// What events that share a buffer must have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub target: Pid,
    pub cpu: i32,
    pub clock: Option<libc::clockid_t>,
    pub backward: u64,
}

#[derive(Debug)]
pub struct Event {
    /// As `PERF_EVENT_IOC_ID` tells it.
    pub id: u64,
    pub attr: Attr,
    pub counted: Counted,
    /// The supervisor's duplicate of the program's descriptor, the reading end of a pipe: it is ready when that can be read,
    /// and hung up when that has no other end.
    pub file: OwnedFd,
    /// The other end; `None` while it is hung up.
    writer: Option<OwnedFd>,
    /// As `/proc/PID/fd` names it: no other pipe has this number while `file` is open.
    pub pipe: u64,
    /// How many descriptors of it wait in sockets (`unix(7)`, SCM_RIGHTS).
    pub on_the_way: u32,
    /// The thread it was opened on, and the one that opened it.
    pub target: Pid,
    pub creator: Pid,
    own: u64,
    /// By copies in threads that are gone, and by those that are there.
    gone: u64,
    live: u64,
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
    /// Samples that found no room in the buffer.
    pub lost: u64,
    clocks: BTreeMap<Pid, Clock>,
}

impl Event {
    pub fn new(id: u64, attr: Attr, counted: Counted, descriptor: (OwnedFd, u64), model: &Model) -> Self {
        let (file, pipe) = descriptor;
        Self {
            id,
            attr,
            counted,
            file,
            writer: None,
            pipe,
            on_the_way: 0,
            target: Pid::from_raw(0),
            creator: Pid::from_raw(0),
            own: 0,
            gone: 0,
            live: 0,
            period: attr::period(&attr),
            limit: 0,
            leader: None,
            siblings: Vec::new(),
            asynchronous: None,
            random: Random::new(model.seed, id),
            cpu: -1,
            ring: None,
            output: None,
            lost: 0,
            clocks: BTreeMap::new(),
        }
    }

    #[must_use]
    pub fn place(&self) -> Place {
        Place {
            target: self.target,
            cpu: self.cpu,
            clock: attr::clock(&self.attr).ok(),
            backward: self.attr.write_backward(),
        }
    }

    pub fn add(&mut self, role: Role, counted: u64) {
        let count = match role {
            Role::Own => &mut self.own,
            Role::Inherited => &mut self.live,
        };
        *count = count.wrapping_add(counted);
    }

    /// The value that `read(2)` gives.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.own.wrapping_add(self.gone).wrapping_add(self.live)
    }

    /// `PERF_EVENT_IOC_RESET`: what copies have counted whose threads are gone stays.
    pub fn reset(&mut self) {
        (self.own, self.live) = (0, 0);
    }

    /// A copy that has counted so much goes with its thread.
    pub fn bury(&mut self, counted: u64) {
        self.live = self.live.wrapping_sub(counted);
        self.gone = self.gone.wrapping_add(counted);
    }

    #[must_use]
    pub fn samples(&self) -> bool {
        self.period != 0
    }

    /// Sets the clocks of `PERF_FORMAT_TOTAL_TIME_ENABLED` and `_RUNNING` in a thread; `last` is its time when it was last looked
    /// at, for one that is gone.
    pub fn clock(&mut self, thread: Pid, running: Running, last: Duration) {
        let clock = self.clocks.entry(thread).or_default();
        if clock.running() != running {
            clock.set(running, time_of(thread).unwrap_or(last));
        }
    }

    /// A thread has become its process's first (`execve(2)`).
    pub fn rename_clock(&mut self, former: Pid, thread: Pid) {
        if let Some(mut clock) = self.clocks.remove(&former) {
            if let Some(earlier) = self.clocks.remove(&thread) {
                clock.add(&earlier);
            }
            self.clocks.insert(thread, clock);
        }
    }

    /// Makes the descriptor readable. As often as it likes: a full pipe is readable, too.
    pub fn wake(&self) {
        if let Some(writer) = &self.writer {
            let _ = nix::unistd::write(writer, &[1]);
        }
    }

    /// Makes it unreadable again.
    pub fn quiet(&self) {
        let mut bytes = [0; 4096];
        loop {
            let mut ready = [PollFd::new(self.file.as_fd(), PollFlags::POLLIN)];
            let can_be_read = poll(&mut ready, PollTimeout::ZERO) == Ok(1)
                && ready[0].revents().is_some_and(|it| it.contains(PollFlags::POLLIN));
            if !can_be_read || nix::unistd::read(&self.file, &mut bytes).is_err() {
                return;
            }
        }
    }

    /// Nothing more is to be expected of it, or something is.
    pub fn hang_up(&mut self, hung_up: bool) {
        if hung_up {
            self.writer = None;
        } else if self.writer.is_none() {
            let other_end = format!("/proc/self/fd/{}", self.file.as_raw_fd());
            let options = OFlag::O_WRONLY | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
            self.writer = open(other_end.as_str(), options, Mode::empty()).ok();
        }
    }

    /// The time of a record, in nanoseconds of `attr.clockid` or of the monotonic clock.
    #[must_use]
    pub fn time(&self) -> u64 {
        // Its start is the monotonic clock's; programs cannot read it.
        let chosen = attr::clock(&self.attr).ok().filter(|it| *it != attr::SCHEDULERS);
        let clock = chosen.unwrap_or(libc::CLOCK_MONOTONIC);
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `now` is ours to fill; a clock that does not exist leaves it zero.
        unsafe { libc::clock_gettime(clock, &raw mut now) };
        now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
    }

    /// Nanoseconds it was enabled, and it counted, in all threads together.
    #[must_use]
    pub fn times(&self) -> [u64; 2] {
        let times = self.clocks.iter().map(|(thread, clock)| {
            clock.at(match clock.running() {
                Running::Off => Duration::ZERO,
                _ => time_of(*thread).unwrap_or_default(),
            })
        });
        let sum = times.fold([Duration::ZERO; 2], |sum, time| [sum[0] + time[0], sum[1] + time[1]]);
        sum.map(|time| time.as_nanos() as u64)
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
