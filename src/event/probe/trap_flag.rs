//! The trap flag: whether each instruction gives a SIGTRAP at the next one.

use std::sync::atomic::Ordering::Relaxed;

use super::breakpoint::{codes, expected_code, in_place};
use super::failure::{Failure, Fired, Held};
use super::report::Report;
use super::{catcher, child, sled};
use crate::record::control::Delivery;

/// Of the report's 64 entries some go to the instructions around the sled.
const WATCHED: u32 = 32;

/// Steps through part of the sled.
///
/// # Errors
/// The first thing that went wrong.
pub fn steps() -> Result<Fired, Failure> {
    child::run(walk, judge)
}

fn walk(report: &Report) {
    if report.note(catcher::install(report)).is_some() {
        sled::walk_under_trap_flag();
    }
}

fn judge(report: &Report) -> Result<Fired, Failure> {
    let first = report.kept().iter().position(|entry| entry.rip.load(Relaxed) == sled::at(0).0);
    let inside = first.and_then(|first| report.kept().get(first..)).unwrap_or_default();
    let inside = inside.get(..WATCHED as usize).unwrap_or(inside);
    for (hit, entry) in (0..).zip(inside) {
        in_place(hit, entry, sled::at(hit))?;
        expected_code(hit, entry, Delivery::Trap)?;
    }
    let hits = inside.len() as u32;
    if hits == WATCHED {
        Ok(Fired { hits, codes: codes(inside), held: Held::Never })
    } else {
        Err(Failure::Missed { hits, of: WATCHED })
    }
}
