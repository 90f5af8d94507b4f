//! The trigger: an inherited sigtrap breakpoint that fires in the thread that opened it and in a new one.

use std::sync::atomic::Ordering::Relaxed;

use super::breakpoint::{TAG, codes, expected_code, in_place};
use super::failure::{Failure, Fired, Held};
use super::report::Report;
use super::{catcher, child, sled, thread};
use crate::event::error::{OpenError, Wanted};
use crate::event::{attr, open};
use crate::raw::Errno;
use crate::record::control::Delivery;

/// One hit in each of two threads.
const HITS: u32 = 2;

/// Enters the sled in two threads.
///
/// # Errors
/// The first thing that went wrong, [`Failure::Refused`] with the remedy when the event cannot be had.
pub fn fires_in_new_threads() -> Result<Fired, Failure> {
    child::run(enter_twice, judge)
}

fn enter_twice(report: &Report) {
    if report.note(catcher::install(report)).is_none() {
        return;
    }
    if let Err(errno) = open::raw(&attr::trigger(sled::at(0), TAG), 0) {
        return report.refused.store(errno.0, Relaxed);
    }
    sled::walk();
    report.note(thread::run(sled::walk));
}

fn judge(report: &Report) -> Result<Fired, Failure> {
    let refused = report.refused.load(Relaxed);
    if refused != 0 {
        return Err(OpenError::here(Errno(refused), Wanted::Trigger).into());
    }
    for (hit, entry) in (0..).zip(report.kept()) {
        in_place(hit, entry, sled::at(0))?;
        expected_code(hit, entry, Delivery::Sigtrap)?;
    }
    let hits = report.hits.load(Relaxed);
    let threads = report.kept().iter().map(|entry| entry.thread.load(Relaxed));
    let distinct = threads.collect::<std::collections::BTreeSet<_>>().len();
    match report.broken.load(Relaxed) {
        0 if hits == HITS && distinct == 2 => {
            Ok(Fired { hits, codes: codes(report.kept()), held: Held::Never })
        }
        0 => Err(Failure::Missed { hits, of: HITS }),
        errno => Err(Failure::NotStarted { errno }),
    }
}
