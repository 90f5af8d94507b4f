//! The signal handler of a probe's child: keeps each signal, and moves the breakpoint on if asked.

#![allow(unsafe_code, reason = "the handler reaches the report through a pointer")]

use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, Ordering::Relaxed};

use super::action;
use super::report::Report;
use super::sled;
use crate::event::siginfo::{EventSignal, TRAP_PERF};
use crate::event::{attr, ioctl, rearm};
use crate::raw::{Errno, gettid};
use crate::record::control::{Delivery, Rearm};

/// A real-time signal that neither glibc (32, 33) nor musl (32 to 34) keeps for itself.
pub(crate) const REALTIME: i32 = 40;

/// ATOMICS, all of them: set in the child before its first signal, read by its handler in the same process.
static REPORT: AtomicPtr<Report> = AtomicPtr::new(null_mut());
static EVENT: AtomicI32 = AtomicI32::new(-1);
static REARM: AtomicU32 = AtomicU32::new(0);

/// Catches SIGTRAP, SIGIO and [`REALTIME`] into `report`. Only in a probe's child.
pub(super) fn install(report: &Report) -> Result<(), Errno> {
    REPORT.store(std::ptr::from_ref(report).cast_mut(), Relaxed);
    action::install(&[libc::SIGTRAP, libc::SIGIO, REALTIME], caught as *const ())
}

/// From now on each hit moves `event` to the sled's next instruction, and the last one stops it.
/// `None` re-arms nothing: a sigtrap event goes on by itself.
pub(super) fn follow(event: i32, rearm: Option<Rearm>) {
    REARM.store(rearm.map_or(0, |rearm| rearm as u32), Relaxed);
    EVENT.store(event, Relaxed);
}

/// # Signal safety
/// Atomics and raw system calls. The report is mapped for as long as the child lives.
extern "C" fn caught(signal: i32, info: &EventSignal, context: &libc::ucontext_t) {
    let report = REPORT.load(Relaxed);
    // SAFETY: `install` stored a reference to the shared page, which stays mapped until the child ends.
    let Some(report) = (unsafe { report.as_ref() }) else { return };
    let [.., rip, _flags, _segments, _error, _trap, _mask, _cr2] = context.uc_mcontext.gregs;
    let data = if info.code == TRAP_PERF { info.data } else { 0 };
    report.record(signal, info.code, rip as u64, data, gettid());
    let event = EVENT.load(Relaxed);
    if event >= 0 {
        report.note(move_on(event, report.hits.load(Relaxed)));
    }
}

/// Moves `event` to the sled's instruction number `next`, or stops it behind the last.
fn move_on(event: i32, next: u32) -> Result<(), Errno> {
    if next >= sled::LENGTH {
        return ioctl::disable(event);
    }
    let again = rearm::ALL.into_iter().find(|way| *way as u32 == REARM.load(Relaxed));
    let delivery = if again.is_some() { Delivery::Fasync } else { Delivery::Sigtrap };
    ioctl::modify(event, &attr::step(sled::at(next), delivery, super::breakpoint::TAG))?;
    again.map_or(Ok(()), |way| rearm::again(event, way))
}
