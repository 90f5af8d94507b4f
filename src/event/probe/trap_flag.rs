//! The trap flag: whether each instruction gives a SIGTRAP at the next one.

use std::sync::atomic::Ordering::Relaxed;

use super::breakpoint::{codes, expected_code, in_place};
use super::failure::{Failure, Fired};
use super::report::{Entry, Report};
use super::{catcher, child, sled};
use crate::address::RuntimeAddr;
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
    let inside = |entry: &&Entry| RuntimeAddr(entry.rip.load(Relaxed)).since(sled::at(0)) < WATCHED.into();
    let mut hits = 0;
    for entry in report.kept().iter().filter(inside) {
        in_place(hits, entry, sled::at(hits))?;
        expected_code(hits, entry, Delivery::Trap)?;
        hits += 1;
    }
    if hits == WATCHED {
        Ok(Fired { hits, codes: codes(report.kept()) })
    } else {
        Err(Failure::Missed { hits, of: WATCHED })
    }
}
