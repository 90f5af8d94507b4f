//! A hardware counter: whether it opens, counts, and whether its overflows arrive.

use std::os::fd::RawFd;
use std::sync::atomic::Ordering::Relaxed;

use super::failure::{Failure, Fired, Held};
use super::report::Report;
use super::{breakpoint, catcher, child, sled};
use crate::event::error::{Cause, OpenError, Wanted};
use crate::event::{attr, fasync, ioctl, open};
use crate::raw::{Errno, gettid};
use crate::record::control::Delivery;
use crate::record::counted::Counted;

/// Far above every smallest period there is, and far below the workload.
const PERIOD: u64 = 1_000;
/// 10,000 instructions: some microseconds, or a second under a software PMU on a busy machine.
const ROUNDS: u64 = 5_000;
const RETIRED: u64 = 2 * ROUNDS;
/// No CPU asks for more.
const LONGEST_PERIOD: u64 = 1 << 40;

/// Counts a loop of known length with an overflow every 1,000 instructions.
///
/// # Errors
/// [`Failure::Refused`] without a PMU, [`Failure::Deaf`] when it counts less than half of what the loop has and was not throttled,
/// [`Failure::Shared`] when it did not count all the time, [`Failure::Silent`] when it counts and yet no signal comes.
pub fn overflows(event: Counted, delivery: Delivery) -> Result<Fired, Failure> {
    child::run(|report| count_a_loop(report, event, delivery), |report| judge(report, event))
}

fn count_a_loop(report: &Report, event: Counted, delivery: Delivery) {
    if report.note(catcher::install(report)).is_none() {
        return;
    }
    let Some(event) = open_counter(report, event, PERIOD, delivery) else { return };
    report.note(ioctl::enable(event));
    sled::spin(ROUNDS);
    report.note(ioctl::disable(event));
    let reading = report.note(ioctl::reading(event)).unwrap_or_default();
    report.count.store(reading.count, Relaxed);
    if let Some(counted) = reading.per_mille_counted() {
        report.missed.store(1000 - counted, Relaxed);
    }
}

/// The counter in a probe's child, disabled, its signals on the way to the catcher's; `None` after saying why not.
pub(super) fn open_counter(
    report: &Report,
    event: Counted,
    period: u64,
    delivery: Delivery,
) -> Option<RawFd> {
    match open::raw(&attr::stepping_counter(event, period, delivery, breakpoint::TAG), 0) {
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

/// Whether [`open_counter`] was refused, or what it opened found no counter.
pub(super) fn refusal(report: &Report, event: Counted) -> Result<(), OpenError> {
    match (report.refused.load(Relaxed), report.broken.load(Relaxed)) {
        (0, libc::EBUSY) => Err(OpenError::here(Errno(libc::EBUSY), Wanted::Counter(event))),
        (0, _) => Ok(()),
        (errno, _) => Err(refused(errno, event)),
    }
}

/// Why a counter of `event` is refused, where it takes more tries to say.
fn refused(errno: i32, event: Counted) -> OpenError {
    let error = OpenError::here(Errno(errno), Wanted::Counter(event));
    let cause = match error.cause {
        Cause::NoPmu if event != Counted::Instructions && accepts(Counted::Instructions, PERIOD).is_ok() => {
            Cause::NotCounted
        }
        // Under the emulator its own filter would be suspected.
        cause if errno == libc::EINVAL => smallest_period(event).map_or(cause, Cause::SmallestPeriod),
        cause => cause,
    };
    OpenError { cause, ..error }
}

/// The smallest period that the CPU takes, found by opening with one after another: kernels refuse (EINVAL) what
/// their CPU cannot do.
///
/// # Errors
/// Why no counter can be opened at all; EINVAL where it cannot with any period.
pub fn smallest_period(event: Counted) -> Result<u64, OpenError> {
    let (mut refused, mut taken) = (0, 1);
    while !accepts(event, taken)? {
        if taken >= LONGEST_PERIOD {
            return Err(OpenError::here(Errno(libc::EINVAL), Wanted::Counter(event)));
        }
        (refused, taken) = (taken, taken * 2);
    }
    while taken - refused > 1 {
        let between = refused + (taken - refused) / 2;
        if accepts(event, between)? { taken = between } else { refused = between }
    }
    Ok(taken)
}

/// Whether a counter of `event` opens with this period.
fn accepts(event: Counted, period: u64) -> Result<bool, OpenError> {
    let attr = attr::stepping_counter(event, period, Delivery::Fasync, breakpoint::TAG);
    match open::open(&attr, Wanted::Counter(event), 0) {
        Ok(_event) => Ok(true),
        Err(OpenError { errno: libc::EINVAL, .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

fn judge(report: &Report, event: Counted) -> Result<Fired, Failure> {
    refusal(report, event)?;
    let (counted, hits) = (report.count.load(Relaxed), report.hits.load(Relaxed));
    let expected = match event {
        Counted::Instructions => RETIRED,
        Counted::Branches => ROUNDS,
        // Nobody knows, but without one period there is no overflow.
        Counted::Cycles | Counted::Raw(_) => 2 * PERIOD,
    };
    let missed = report.missed.load(Relaxed);
    match report.broken.load(Relaxed) {
        0 if missed > 0 => Err(Failure::Shared { per_mille: 1000 - missed }),
        // It went as far as its overflows, and not on to the next.
        0 if counted < expected / 2 && hits > 0 && counted / PERIOD <= u64::from(hits) => {
            Ok(Fired { hits, codes: breakpoint::codes(report.kept()), held: Held::Throttled })
        }
        0 if counted < expected / 2 => Err(Failure::Deaf { counted, expected }),
        0 if hits == 0 => Err(Failure::Silent { counted }),
        0 => Ok(Fired { hits, codes: breakpoint::codes(report.kept()), held: Held::Never }),
        errno => Err(Failure::Rearm { errno }),
    }
}
