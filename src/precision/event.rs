//! The events that can be validated, and how each is asked for.

use std::fmt;

use perf_event_open_sys::bindings as sys;
use serde::{Deserialize, Serialize};

use super::uprobe;
use super::workload::Workload;
use crate::event::attr::{self, Attr};
use crate::event::error::Wanted;
use crate::record::control;
use crate::record::counted::Counted;

/// A measured event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// An execute breakpoint on the workload's instruction of interest.
    Breakpoint,
    PageFaults,
    ContextSwitches,
    CpuClock,
    TaskClock,
    Instructions,
    Branches,
    Cycles,
    /// `rNNNN`: event and umask as in the vendor's manual, of retired instructions.
    Raw(u64),
    /// `tracepoint:ID`: by the number in tracefs's `events/…/id`.
    Tracepoint(u64),
    /// A uprobe on the workload's instruction of interest, by the number of the PMU that makes uprobes.
    Uprobe,
}

/// How an overflow is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Delivery {
    Sigtrap,
    Fasync,
    /// As [`Self::Sigtrap`], with the signal blocked while the event fires: a control.
    SigtrapBlocked,
}

/// Where an event's overflows have to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nature {
    /// One instruction makes it overflow, and the signal has to be there.
    Exact,
    /// The same for most; but the scheduler may preempt anywhere.
    Switch,
    /// One instruction makes it overflow; where the signal is, is to be found out.
    Probe,
    /// No instruction does.
    Clock,
    /// The instruction at which the count reaches the period: to be found out.
    Counter,
}

impl Event {
    /// The events that are tried without being asked for.
    pub const STANDARD: [Self; 8] = [
        Self::Breakpoint,
        Self::PageFaults,
        Self::ContextSwitches,
        Self::CpuClock,
        Self::TaskClock,
        Self::Instructions,
        Self::Branches,
        Self::Cycles,
    ];

    #[must_use]
    pub const fn nature(&self) -> Nature {
        match self {
            Self::Breakpoint | Self::PageFaults => Nature::Exact,
            Self::Tracepoint(_) | Self::Uprobe => Nature::Probe,
            Self::ContextSwitches => Nature::Switch,
            Self::CpuClock | Self::TaskClock | Self::Cycles => Nature::Clock,
            Self::Instructions | Self::Branches | Self::Raw(_) => Nature::Counter,
        }
    }

    /// Whether it is the PMU's to count.
    #[must_use]
    pub const fn is_hardware(&self) -> bool {
        self.counted().is_some()
    }

    /// What the PMU counts for it.
    const fn counted(&self) -> Option<Counted> {
        Some(match self {
            Self::Instructions => Counted::Instructions,
            Self::Branches => Counted::Branches,
            Self::Cycles => Counted::Cycles,
            Self::Raw(encoding) => Counted::Raw(*encoding),
            _ => return None,
        })
    }

    /// What an open of it is for.
    pub(super) fn wanted(&self) -> Wanted {
        self.counted().map_or(Wanted::Step, Wanted::Counter)
    }

    /// Reads the name of one: what [`fmt::Display`] writes, and perf's usual abbreviations.
    ///
    /// # Errors
    /// The names there are.
    pub fn parse(name: &str) -> Result<Self, String> {
        if let Some(counted) = Counted::parse(name) {
            return Ok(counted.into());
        }
        Ok(match name {
            "breakpoint" => Self::Breakpoint,
            "page-faults" | "page-fault" | "faults" => Self::PageFaults,
            "context-switches" | "context-switch" | "cs" => Self::ContextSwitches,
            "cpu-clock" => Self::CpuClock,
            "task-clock" => Self::TaskClock,
            "uprobe" => Self::Uprobe,
            other => {
                let tracepoint = other.strip_prefix("tracepoint:").and_then(|id| id.parse().ok());
                tracepoint.map(Self::Tracepoint).ok_or_else(|| {
                    format!(
                        "`{name}` is no event; there are breakpoint, page-faults, context-switches, cpu-clock, task-clock, \
                         instructions, branches, cycles, rNNNN (raw, hexadecimal), tracepoint:ID and uprobe"
                    )
                })?
            }
        })
    }

    /// The event in the name of a check of it: `EVENT: what`.
    #[must_use]
    pub fn of_check(name: &str) -> Option<Self> {
        Self::parse(name.split_once(": ")?.0).ok()
    }

    /// Attributes for overflows every `period` occurrences in user mode, told by `delivery`; not enabled yet.
    pub(super) fn attr(&self, period: u64, precise: u8, delivery: Delivery, workload: &Workload) -> Attr {
        let tell = delivery.of_the_kernel();
        let mut attr = match (self, self.counted()) {
            (Self::Breakpoint, _) => attr::step(workload.subject, tell, TAG),
            (_, counted) => attr::counter(counted.unwrap_or_default(), period, tell, TAG),
        };
        let software = sys::PERF_TYPE_SOFTWARE;
        let (kind, config) = match self {
            Self::Breakpoint | Self::Instructions | Self::Branches | Self::Cycles | Self::Raw(_) => {
                (attr.type_, attr.config)
            }
            Self::PageFaults => (software, u64::from(sys::PERF_COUNT_SW_PAGE_FAULTS)),
            Self::ContextSwitches => (software, u64::from(sys::PERF_COUNT_SW_CONTEXT_SWITCHES)),
            Self::CpuClock => (software, u64::from(sys::PERF_COUNT_SW_CPU_CLOCK)),
            Self::TaskClock => (software, u64::from(sys::PERF_COUNT_SW_TASK_CLOCK)),
            Self::Tracepoint(id) => (sys::PERF_TYPE_TRACEPOINT, *id),
            Self::Uprobe => (uprobe::kind(), 0),
        };
        (attr.type_, attr.config) = (kind, config);
        // The switch itself and most tracepoints happen in the kernel: excluded there, they count nothing.
        if matches!(self, Self::ContextSwitches | Self::Tracepoint(_)) {
            attr.set_exclude_kernel(0);
        }
        if *self == Self::Uprobe {
            let (file, offset) = uprobe::place(workload.subject);
            attr.__bindgen_anon_3.uprobe_path = file.as_ptr() as u64;
            attr.__bindgen_anon_4.probe_offset = offset.0;
        }
        if self.is_hardware() {
            // It may share the PMU with others, or be on a core that lacks it, which only its times say.
            attr.read_format =
                u64::from(sys::PERF_FORMAT_TOTAL_TIME_ENABLED | sys::PERF_FORMAT_TOTAL_TIME_RUNNING);
        }
        attr.set_precise_ip(u64::from(precise));
        attr.set_disabled(1);
        attr
    }
}

/// What comes back in `si_perf_data`.
pub(super) const TAG: u64 = 0x7661_6c69_6461_7465;

impl From<Counted> for Event {
    fn from(counted: Counted) -> Self {
        match counted {
            Counted::Instructions => Self::Instructions,
            Counted::Branches => Self::Branches,
            Counted::Cycles => Self::Cycles,
            Counted::Raw(encoding) => Self::Raw(encoding),
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Breakpoint => f.write_str("breakpoint"),
            Self::PageFaults => f.write_str("page-faults"),
            Self::ContextSwitches => f.write_str("context-switches"),
            Self::CpuClock => f.write_str("cpu-clock"),
            Self::TaskClock => f.write_str("task-clock"),
            Self::Instructions => Counted::Instructions.fmt(f),
            Self::Branches => Counted::Branches.fmt(f),
            Self::Cycles => Counted::Cycles.fmt(f),
            Self::Raw(encoding) => Counted::Raw(*encoding).fmt(f),
            Self::Tracepoint(id) => write!(f, "tracepoint:{id}"),
            Self::Uprobe => f.write_str("uprobe"),
        }
    }
}

impl Delivery {
    /// What the matrix is measured with; [`Self::SigtrapBlocked`] is a control only.
    pub const MEASURED: [Self; 2] = [Self::Sigtrap, Self::Fasync];

    pub(super) const fn of_the_kernel(self) -> control::Delivery {
        match self {
            Self::Sigtrap | Self::SigtrapBlocked => control::Delivery::Sigtrap,
            Self::Fasync => control::Delivery::Fasync,
        }
    }
}

impl fmt::Display for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sigtrap => "sigtrap",
            Self::Fasync => "fasync",
            Self::SigtrapBlocked => "sigtrap-blocked",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        let mut all = Event::STANDARD.to_vec();
        all.extend([Event::Raw(0x1c2), Event::Tracepoint(17), Event::Uprobe]);
        for event in all {
            assert_eq!(Event::parse(&event.to_string()), Ok(event));
        }
        assert!(Event::parse("rxyz").unwrap_err().starts_with("`rxyz` is no event; there are breakpoint"));
    }
}
