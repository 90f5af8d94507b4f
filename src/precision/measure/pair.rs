//! Two breakpoints in one loop: whether the second fires when its instruction follows the first's.

#![allow(unsafe_code, reason = "runs assembly on memory that it maps itself")]

use std::sync::atomic::Ordering::Relaxed;

use super::isolated::{Trouble, measure};
use super::observation::Observation;
use super::room::{map, pin};
use super::run::warm_up;
use crate::address::RuntimeAddr;
use crate::event::{attr, ioctl, open};
use crate::precision::event::TAG;
use crate::precision::plan::Patience;
use crate::precision::workload::Workload;
use crate::raw::gettid;
use crate::record::control::Delivery;

/// Runs `iterations` of `workload` with sigtrap breakpoints on its instruction of interest and on `second`. Figures 0 and
/// 1 are what the two events counted.
///
/// # Errors
/// [`Trouble`].
pub(in crate::precision) fn observe(
    workload: Workload,
    second: RuntimeAddr,
    iterations: u64,
    cpu: Option<u32>,
    patience: Patience,
) -> Result<Observation, Trouble> {
    measure(patience, 2 * iterations, |ledger| {
        let Some(()) = ledger.note(pin(cpu)) else { return };
        let Some(region) = ledger.note(map(4096)) else { return };
        ledger.thread.store(gettid(), Relaxed);
        warm_up(ledger);
        let mut events = [-1; 2];
        for (event, address) in events.iter_mut().zip([workload.subject, second]) {
            match open::raw(&attr::step(address, Delivery::Sigtrap, TAG), 0) {
                Ok(descriptor) => *event = descriptor,
                Err(errno) => return ledger.refused.store(errno.0, Relaxed),
            }
        }
        // SAFETY: the region has the page that this workload touches.
        unsafe { workload.run(region, iterations, -1, 0, 0) };
        for (n, event) in events.into_iter().enumerate() {
            ledger.figure(n, ledger.note(ioctl::count(event)).unwrap_or(0));
        }
    })
}
