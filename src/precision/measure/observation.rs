//! The facts of one run, as plain values: what the judges work on, and what tests can write down.

use crate::address::RuntimeAddr;
use crate::event::siginfo;
use crate::precision::workload::Path;

/// One signal as its handler saw it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stop {
    /// The saved RIP.
    pub rip: RuntimeAddr,
    /// The workload's iteration counter, which counts down.
    pub left: u64,
    /// The event's count, where it is a counter; else 0.
    pub count: u64,
    pub signal: i32,
    pub code: i32,
    /// `si_perf_flags`.
    pub flags: u32,
    /// `si_perf_data`, or `si_fd` in the low half.
    pub data: u64,
    pub thread: u32,
    /// The IP of the sample in the ring buffer, where samples are kept; else 0.
    pub sample: RuntimeAddr,
}

/// One run of a workload under an event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observation {
    /// Overflows that the workload had to cause.
    pub asked: u64,
    /// Signals caught, those beyond [`Self::stops`] included.
    pub signals: u64,
    pub stops: Vec<Stop>,
    /// The event's own count at the end.
    pub count: u64,
    /// Nanoseconds a counter was enabled, and it was on the PMU; 0 of other events.
    pub enabled: u64,
    pub running: u64,
    /// The event's descriptor and the thread it was opened on.
    pub descriptor: i32,
    pub thread: u32,
    /// Page faults and context switches meanwhile, by getrusage.
    pub faults: u64,
    pub switches: u64,
    /// Switches that the scheduler forced, which may be anywhere.
    pub preemptions: u64,
    pub figures: Vec<u64>,
}

impl Observation {
    /// Without what comes behind a stop in the instructions that disarm the event: its handler has armed it again, and
    /// the workload has ended. Whether there is such a stop.
    pub fn until_disarmed(&mut self, path: &Path) -> bool {
        let last = self.stops.iter().position(|stop| path.is_disarming(stop.rip));
        if let Some(last) = last {
            self.stops.truncate(last + 1);
            self.signals = last as u64 + 1;
            self.count = self.stops.last().map_or(self.count, |stop| stop.count);
        }
        last.is_some()
    }
}

impl Stop {
    /// `si_code` by its name.
    #[must_use]
    pub fn code_name(&self) -> &'static str {
        siginfo::code_name(self.signal, self.code)
    }

    /// Whether the kernel says that the signal was blocked when the event fired.
    #[must_use]
    pub const fn is_async(&self) -> bool {
        self.flags & siginfo::TRAP_PERF_FLAG_ASYNC != 0
    }
}
