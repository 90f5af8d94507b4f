//! One inherited breakpoint, five threads at once, three thousand passes each: the kernel's `sigtrap_threads` selftest
//! with an execute breakpoint, so that the RIP can be checked, too.

#![allow(unsafe_code, reason = "runs assembly on memory of its own")]

use std::sync::atomic::Ordering::Relaxed;

use super::isolated::{Trouble, measure};
use super::observation::Observation;
use super::room::pin;
use super::run::warm_up;
use crate::event::probe::thread::{Alive, spawn, wait};
use crate::event::{attr, ioctl, open};
use crate::precision::event::TAG;
use crate::precision::plan::Patience;
use crate::precision::workload::class;
use crate::raw::gettid;

/// As in `tools/testing/selftests/perf_events/sigtrap_threads.c`.
pub(in crate::precision) const THREADS: usize = 5;
pub(in crate::precision) const PASSES: u64 = 3_000;

/// Runs the threads.
///
/// # Errors
/// [`Trouble`].
pub(in crate::precision) fn observe(cpu: Option<u32>, patience: Patience) -> Result<Observation, Trouble> {
    static ALIVE: [Alive; THREADS] = [const { Alive::new(0) }; THREADS];
    measure(patience, THREADS as u64 * PASSES, |ledger| {
        let Some(()) = ledger.note(pin(cpu)) else { return };
        ledger.thread.store(gettid(), Relaxed);
        warm_up(ledger);
        let event = match open::raw(&attr::trigger(class::nop().subject, TAG), 0) {
            Ok(event) => event,
            Err(errno) => return ledger.refused.store(errno.0, Relaxed),
        };
        for alive in &ALIVE {
            ledger.note(spawn(pass, alive));
        }
        ALIVE.iter().for_each(wait);
        ledger.count.store(ledger.note(ioctl::count(event)).unwrap_or(0), Relaxed);
    })
}

extern "C" fn pass() {
    // SAFETY: this workload touches no memory.
    unsafe { class::nop().run(std::ptr::null_mut(), PASSES, -1, 0, 0) };
}
