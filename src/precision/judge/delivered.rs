//! Whether there were as many signals as overflows, and each of the kind that was asked for.

use std::collections::BTreeMap;

use crate::event::probe::catcher::REALTIME;
use crate::event::siginfo::{POLL_HUP, POLL_IN, TRAP_PERF};
use crate::precision::event::{Delivery, TAG};
use crate::precision::measure::{Observation, Stop};

/// The deliveries of one row or class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delivered {
    /// Overflows that the workload had to cause.
    pub asked: u64,
    /// What the event itself counted, where that is overflows.
    pub counted: u64,
    pub received: u64,
    /// Times each `si_code` came.
    pub codes: BTreeMap<&'static str, u64>,
    /// Signals of another number or code than this delivery's.
    pub alien: u64,
    /// Signals whose `si_fd` or `si_perf_data` named another event.
    pub misnamed: u64,
    /// Signals that came to another thread.
    pub misdirected: u64,
    /// Signals that the kernel marked as having been blocked.
    pub flagged: u64,
    pub faults: u64,
    pub switches: u64,
    pub preemptions: u64,
    /// Nanoseconds a counter was enabled, and it was on the PMU.
    pub enabled: u64,
    pub running: u64,
    /// The longest period there is to try, where interrupts come too late for it.
    pub too_short: Option<u64>,
}

impl Delivered {
    pub fn add(&mut self, observation: &Observation, delivery: Delivery) {
        self.asked += observation.asked;
        self.counted += observation.count;
        self.received += observation.signals;
        self.faults += observation.faults;
        self.switches += observation.switches;
        self.preemptions += observation.preemptions;
        self.enabled += observation.enabled;
        self.running += observation.running;
        for stop in &observation.stops {
            *self.codes.entry(stop.code_name()).or_default() += 1;
            self.alien += u64::from(!is_of(stop, delivery));
            self.misnamed += u64::from(!names(stop, observation.descriptor, delivery));
            self.misdirected += u64::from(stop.thread != observation.thread);
            self.flagged += u64::from(stop.is_async());
        }
    }

    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.asked.saturating_sub(self.received)
    }

    #[must_use]
    pub const fn extra(&self) -> u64 {
        self.received.saturating_sub(self.asked)
    }

    pub fn merge(&mut self, other: &Self) {
        self.asked += other.asked;
        self.counted += other.counted;
        self.received += other.received;
        for (code, times) in &other.codes {
            *self.codes.entry(code).or_default() += times;
        }
        self.alien += other.alien;
        self.misnamed += other.misnamed;
        self.misdirected += other.misdirected;
        self.flagged += other.flagged;
        self.faults += other.faults;
        self.switches += other.switches;
        self.preemptions += other.preemptions;
        self.enabled += other.enabled;
        self.running += other.running;
        self.too_short = self.too_short.max(other.too_short);
    }

    /// Why a counter's figures say nothing about places and counts.
    #[must_use]
    pub fn unmeasurable(&self) -> Option<String> {
        let shared = shared(self.enabled, self.running);
        shared.or_else(|| {
            let period = self.too_short?;
            Some(format!(
                "the skid reaches half the period {period}, the longest there is, and is not measurable"
            ))
        })
    }
}

/// Why a counter that was on the PMU for `running` of the `enabled` nanoseconds cannot be believed; `None` where it was
/// all the time. The kernel reads both times together, so that a thousandth is no rounding.
#[must_use]
pub fn shared(enabled: u64, running: u64) -> Option<String> {
    let missed = enabled.saturating_sub(running);
    (missed.saturating_mul(1000) > enabled).then(|| {
        let percent = running as f64 / enabled as f64 * 100.0;
        format!(
            "multiplexed: the counter was on the PMU for {percent:.1} % of the time, and what it says is not to be believed; end \
             other users of the PMU (perf stat, perf record, the NMI watchdog)"
        )
    })
}

const fn is_of(stop: &Stop, delivery: Delivery) -> bool {
    match delivery {
        Delivery::Sigtrap | Delivery::SigtrapBlocked => {
            stop.signal == libc::SIGTRAP && stop.code == TRAP_PERF
        }
        Delivery::Fasync => stop.signal == REALTIME && (stop.code == POLL_IN || stop.code == POLL_HUP),
    }
}

const fn names(stop: &Stop, descriptor: i32, delivery: Delivery) -> bool {
    match delivery {
        Delivery::Sigtrap | Delivery::SigtrapBlocked => stop.data == TAG,
        Delivery::Fasync => stop.data as u32 as i32 == descriptor,
    }
}
