//! The hardware instruction counter: whether it opens, counts, and whether its overflows arrive.

use std::os::fd::RawFd;
use std::sync::atomic::Ordering::Relaxed;

use super::failure::{Failure, Fired};
use super::report::Report;
use super::{breakpoint, catcher, child, sled};
use crate::event::attr::Counted;
use crate::event::error::{OpenError, Wanted};
use crate::event::{attr, fasync, ioctl, open};
use crate::raw::{Errno, gettid};
use crate::record::control::Delivery;

/// Far above every smallest period there is, and far below the workload.
const PERIOD: u64 = 1_000;
/// 10,000 instructions: some microseconds, or a second under a software PMU on a busy machine.
const ROUNDS: u64 = 5_000;
const RETIRED: u64 = 2 * ROUNDS;

/// Counts a loop of known length with an overflow every 1,000 instructions.
///
/// # Errors
/// [`Failure::Refused`] without a PMU, [`Failure::Deaf`] when it counts less than half of the loop,
/// [`Failure::Silent`] when it counts and yet no signal comes.
pub fn overflows(event: Counted, delivery: Delivery) -> Result<Fired, Failure> {
    child::run(|report| count_a_loop(report, event, delivery), judge)
}

fn count_a_loop(report: &Report, event: Counted, delivery: Delivery) {
    if report.note(catcher::install(report)).is_none() {
        return;
    }
    let Some(event) = open_counter(report, event, PERIOD, delivery) else { return };
    report.note(ioctl::enable(event));
    sled::spin(ROUNDS);
    report.note(ioctl::disable(event));
    report.count.store(report.note(ioctl::count(event)).unwrap_or(0), Relaxed);
}

/// The counter in a probe's child, disabled, its signals on the way to the catcher's; `None` after saying why not.
pub(super) fn open_counter(
    report: &Report,
    event: Counted,
    period: u64,
    delivery: Delivery,
) -> Option<RawFd> {
    match open::raw(&attr::instructions(event, period, delivery, breakpoint::TAG), 0) {
        Ok(event) => {
            if delivery == Delivery::Fasync {
                report.note(fasync::direct(event, gettid(), catcher::REALTIME));
            }
            Some(event)
        }
        Err(errno) => {
            report.refused.store(errno.0, Relaxed);
            None
        }
    }
}

/// Whether [`open_counter`] was refused.
pub(super) fn refusal(report: &Report) -> Result<(), OpenError> {
    match report.refused.load(Relaxed) {
        0 => Ok(()),
        errno => Err(OpenError::here(Errno(errno), Wanted::Instructions)),
    }
}

/// The smallest period that the CPU takes, found by opening with one after another; `None` where it takes none up
/// to 1,024. Kernels refuse (EINVAL) what their CPU cannot do.
///
/// # Errors
/// Why no counter can be opened at all.
pub fn smallest_period(event: Counted) -> Result<Option<u64>, OpenError> {
    for period in 1..=1_024 {
        let attr = attr::instructions(event, period, Delivery::Fasync, breakpoint::TAG);
        match open::open(&attr, Wanted::Instructions, 0) {
            Ok(_event) => return Ok(Some(period)),
            Err(OpenError { errno: libc::EINVAL, .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

fn judge(report: &Report) -> Result<Fired, Failure> {
    refusal(report)?;
    let (counted, hits) = (report.count.load(Relaxed), report.hits.load(Relaxed));
    match report.broken.load(Relaxed) {
        0 if counted < RETIRED / 2 => Err(Failure::Deaf { counted, expected: RETIRED }),
        0 if hits == 0 => Err(Failure::Silent { counted }),
        0 => Ok(Fired { hits, codes: breakpoint::codes(report.kept()) }),
        errno => Err(Failure::Rearm { errno }),
    }
}
