//! PERF_EVENT_IOC_PERIOD on an event that is enabled: a stretch with the period that it was opened with, and one with
//! another.

#![allow(unsafe_code, reason = "runs assembly on memory that it maps itself")]

use std::sync::atomic::Ordering::Relaxed;

use super::catcher::{self, Handling};
use super::isolated::{Trouble, measure};
use super::observation::Observation;
use super::room::{PAGE, give_back, map, pin};
use super::run::warm_up;
use super::spec::{Pages, Spec};
use crate::event::{ioctl, open};
use crate::precision::event::Nature;
use crate::raw::gettid;

/// Runs `spec`'s iterations with the period that it has, then `after` of them with `period`. Figure 0 is the number of
/// signals before the change, figure 1 a counter's count at it.
///
/// # Errors
/// [`Trouble`].
pub(in crate::precision) fn observe(spec: &Spec, period: u64, after: u64) -> Result<Observation, Trouble> {
    measure(spec.patience, 0, |ledger| {
        let pages = match spec.pages {
            Pages::Fresh => spec.iterations + after,
            Pages::Present => 1,
        };
        let Some(()) = ledger.note(pin(spec.cpu)) else { return };
        let Some(region) = ledger.note(map(pages * PAGE)) else { return };
        let event = match open::raw(&spec.attr, 0) {
            Ok(event) => event,
            Err(errno) => return ledger.refused.store(errno.0, Relaxed),
        };
        ledger.descriptor.store(event, Relaxed);
        ledger.thread.store(gettid(), Relaxed);
        // SAFETY: the region has a page for the one iteration.
        unsafe { spec.workload.run(region, 1, -1, 0, 0) };
        warm_up(ledger);
        if spec.pages == Pages::Fresh {
            ledger.note(give_back(region, pages * PAGE));
        }
        if spec.nature == Nature::Counter {
            catcher::handle(Handling::Step { event, request: ioctl::ENABLE });
        }
        ledger.note(ioctl::enable(event));
        // SAFETY: the region has a page for every iteration of both runs, or both touch the same one.
        unsafe { spec.workload.run(region, spec.iterations, -1, 0, 0) };
        ledger.figure(0, ledger.signals.load(Relaxed).into());
        if spec.nature == Nature::Counter {
            ledger.figure(1, ledger.note(ioctl::reading(event)).unwrap_or_default().count);
        }
        ledger.note(ioctl::period(event, period));
        let behind = if spec.pages == Pages::Fresh { spec.iterations * PAGE } else { 0 };
        // SAFETY: as above; `behind` is within the region.
        unsafe { spec.workload.run(region.add(behind as usize), after, -1, 0, 0) };
        if spec.nature == Nature::Counter {
            // From here on the handler does not arm it again.
            catcher::handle(Handling::Step { event, request: ioctl::DISABLE });
        }
        ledger.note(ioctl::disable(event));
    })
}
