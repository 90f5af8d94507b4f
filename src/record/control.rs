//! The control block: one shared page between `overstep trace` and every armed process of its tree.
//!
//! It lives in a memfd of its own, not in the trace file: it says what to do and how far the file has grown,
//! which is of no use to a reader afterwards.

use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::counted::Counting;
use super::keep::KeepRequest;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u32)]
pub enum Engine {
    Breakpoint = 1,
    TrapFlag = 2,
    Instructions = 3,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u32)]
pub enum Delivery {
    Sigtrap = 1,
    Fasync = 2,
    /// The trap flag needs no event; its #DB arrives as a plain SIGTRAP.
    Trap = 3,
}

/// How an event that its REFRESH limit stopped is started again (kernel-facts, "Kernel versions").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u32)]
pub enum Rearm {
    /// REFRESH(1) alone.
    Refresh = 1,
    /// REFRESH(1), then PERIOD(1).
    RefreshPeriod = 2,
    /// REFRESH(2) once, then +1 per stop: every signal is POLL_IN.
    KeepAboveZero = 3,
    /// DISABLE, then ENABLE: no limit, every signal is POLL_IN.
    DisableEnable = 4,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u32)]
pub enum StepMode {
    Instruction = 1,
    Block = 2,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u32)]
pub enum Into {
    Module = 1,
    All = 2,
    None = 3,
}

/// What the handler and the agent have to know, fixed before the program starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    pub engine: Engine,
    pub delivery: Delivery,
    pub rearm: Rearm,
    pub step: StepMode,
    pub into: Into,
    /// Trace from the nth call on; 1 is the first.
    pub first_call: u64,
    /// Trace this many calls; `u64::MAX` for all.
    pub calls: u64,
    /// Steps per thread and call before `lost: limit`; `u64::MAX` for no limit.
    pub max_steps: u64,
    pub registers: bool,
    pub memory: bool,
    /// No perf event is to be had: breakpoints are instructions in private copies of the program's code.
    pub patch: bool,
    /// Of the `instructions` engine, otherwise [`Counting::NONE`].
    pub counting: Counting,
}

/// Figures that live as long as the traced process tree. All relaxed but where said.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Progress {
    /// Bytes of the trace handed out to chunks.
    /// ATOMICS: threads of the traced process add, the parent reads to grow the file ahead.
    pub used: AtomicU64,
    /// Bytes of the trace that may be touched. ATOMICS: the parent stores (release), the handler loads (acquire).
    pub room: AtomicU64,
    /// Futex word: threads add 1 and wake the parent when `used` nears `room`.
    pub want: AtomicU32,
    /// Set by the parent when the file cannot grow: the errno.
    pub no_room: AtomicU32,
    /// The traced process, 0 while none has entered. ATOMICS: compare-exchange by the first to enter.
    pub owner: AtomicU32,
    /// Overflows of the instruction counter after which nothing had retired.
    pub zero_steps: AtomicU64,
    /// By how much the counter has run ahead of the path that control took, in counts of its event.
    pub overcounted: AtomicU64,
    /// What a process asks of the parent about its triggers.
    pub keep: KeepRequest,
    /// Overflows whose signal never came.
    pub lost_signals: AtomicU64,
    /// Stops before which the counter had not counted all the time.
    pub away: AtomicU64,
    /// Hits of a trigger that are no entries: see [`Self::note_hit_again`].
    pub trigger_again: AtomicU64,
    /// Places in which the program's code was patched.
    pub patches: AtomicU32,
    /// Processes in which the function was found and armed.
    pub armed: AtomicU32,
    /// Outermost entries so far; the next call's number is this plus one.
    pub calls: AtomicU64,
    /// Every entry, nested ones too.
    pub entered: AtomicU64,
    /// Entries that were traced.
    pub traced: AtomicU64,
}

impl Progress {
    /// The counter is `ahead` of the path that control took.
    ///
    /// # Signal safety
    /// An atomic.
    pub fn note_overcount(&self, ahead: u64) {
        if ahead != 0 {
            self.overcounted.fetch_add(ahead, Ordering::Relaxed);
        }
    }

    /// The counter overflowed, and stopped, without a signal.
    ///
    /// # Signal safety
    /// An atomic.
    pub fn note_lost_signal(&self) {
        self.lost_signals.fetch_add(1, Ordering::Relaxed);
    }

    /// The counter was away before a stop.
    ///
    /// # Signal safety
    /// An atomic.
    pub fn note_absence(&self) {
        self.away.fetch_add(1, Ordering::Relaxed);
    }

    /// A trigger has been hit that is no entry: a handler of the program's has returned to the function's first instruction,
    /// or the breakpoint was made to fire a second time.
    ///
    /// # Signal safety
    /// An atomic.
    pub fn note_hit_again(&self) {
        self.trigger_again.fetch_add(1, Ordering::Relaxed);
    }

    /// The counter overflowed before anything had retired.
    ///
    /// # Signal safety
    /// An atomic.
    pub fn note_zero_step(&self) {
        self.zero_steps.fetch_add(1, Ordering::Relaxed);
    }
}
