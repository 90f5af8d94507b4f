//! The REFRESH limit: whether its last overflow says POLL_HUP, and none comes after.

use std::num::NonZeroU32;
use std::sync::atomic::Ordering::Relaxed;

use super::breakpoint::{TAG, codes, expected_code, in_place};
use super::failure::{Failure, Fired, Held};
use super::report::Report;
use super::{catcher, child, sled};
use crate::event::error::{OpenError, Wanted};
use crate::event::siginfo::POLL_HUP;
use crate::event::{attr, fasync, ioctl, open};
use crate::raw::{Errno, gettid};
use crate::record::control::Delivery;

const LIMIT: NonZeroU32 = NonZeroU32::new(5).unwrap();

/// Passes a standing breakpoint six times with a limit of five: four POLL_IN, one POLL_HUP, then nothing
/// (Linux `kernel/events/core.c`, `__perf_event_overflow`).
///
/// # Errors
/// [`Failure::NoHangUp`] where the last signal is a POLL_IN, as on Linux 6.16.0 to 6.16.7.
pub fn hangs_up() -> Result<Fired, Failure> {
    child::run(pass_six_times, judge)
}

fn pass_six_times(report: &Report) {
    if report.note(catcher::install(report)).is_none() {
        return;
    }
    let event = match open::raw(&attr::step(sled::at(0), Delivery::Fasync, TAG), 0) {
        Ok(event) => event,
        Err(errno) => return report.refused.store(errno.0, Relaxed),
    };
    report.note(fasync::direct(event, gettid(), catcher::REALTIME));
    report.note(ioctl::refresh(event, LIMIT));
    for _ in 0..=LIMIT.get() {
        sled::walk();
    }
}

fn judge(report: &Report) -> Result<Fired, Failure> {
    let refused = report.refused.load(Relaxed);
    if refused != 0 {
        return Err(OpenError::here(Errno(refused), Wanted::Step).into());
    }
    for (hit, entry) in (0..).zip(report.kept()) {
        in_place(hit, entry, sled::at(0))?;
        expected_code(hit, entry, Delivery::Fasync)?;
    }
    let hits = report.hits.load(Relaxed);
    match report.kept().last() {
        Some(last) if hits == LIMIT.get() && last.code.load(Relaxed) == POLL_HUP => {
            Ok(Fired { hits, codes: codes(report.kept()), held: Held::Never })
        }
        Some(_) if hits == LIMIT.get() => Err(Failure::NoHangUp),
        _ => Err(Failure::Missed { hits, of: LIMIT.get() }),
    }
}
