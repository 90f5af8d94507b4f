//! The hardware instruction counter: whether it opens, counts, and whether its overflows arrive.

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
const PERIOD: u64 = 5_000;
/// 100,000 instructions: some microseconds, or a third of a second under a software PMU.
const ROUNDS: u64 = 50_000;
const RETIRED: u64 = 2 * ROUNDS;

/// Counts a loop of known length with an overflow every 5,000 instructions.
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
    let event = match open::raw(&attr::instructions(event, PERIOD, delivery, breakpoint::TAG), 0) {
        Ok(event) => event,
        Err(errno) => return report.refused.store(errno.0, Relaxed),
    };
    if delivery == Delivery::Fasync {
        report.note(fasync::direct(event, gettid(), catcher::REALTIME));
    }
    report.note(ioctl::enable(event));
    sled::spin(ROUNDS);
    report.note(ioctl::disable(event));
    report.count.store(report.note(ioctl::count(event)).unwrap_or(0), Relaxed);
}

fn judge(report: &Report) -> Result<Fired, Failure> {
    let refused = report.refused.load(Relaxed);
    if refused != 0 {
        return Err(OpenError::here(Errno(refused), Wanted::Instructions).into());
    }
    let (counted, hits) = (report.count.load(Relaxed), report.hits.load(Relaxed));
    match report.broken.load(Relaxed) {
        0 if counted < RETIRED / 2 => Err(Failure::Deaf { counted, expected: RETIRED }),
        0 if hits == 0 => Err(Failure::Silent { counted }),
        0 => Ok(Fired { hits, codes: breakpoint::codes(report.kept()) }),
        errno => Err(Failure::Rearm { errno }),
    }
}
