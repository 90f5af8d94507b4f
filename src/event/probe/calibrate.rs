//! The instruction counter measured where the answer is known: on nops that a handler's tail returns to.
//!
//! From counts, not from a sweep of periods: the tail is what the counter had at the stop less the nops that ran, the
//! skid what it had less the period (design, "The handler tail").

#![allow(unsafe_code, reason = "naked code of known length, and a handler that reads its frame")]

use std::arch::naked_asm;
use std::collections::BTreeMap;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU64, Ordering::Relaxed};

use super::failure::Failure;
use super::report::{ENTRIES, Report};
use super::{action, catcher, child, counter};
use crate::event::attr::Counted;
use crate::event::ioctl;
use crate::event::tail::handler_with_tail;
use crate::raw::{getpid, gettid};
use crate::record::calibration::Calibration;
use crate::record::control::Delivery;

/// One-byte instructions behind the system call whose signal arms the counter.
const NOPS: u64 = 4096;
/// Instructions from arming to the overflow: above every smallest period known, within the nops.
const PERIOD: u64 = 1000;
/// The same once more: what a counter counts too much grows with the way, the tail does not.
const LONG_PERIOD: u64 = 2000;
/// Stops that are measured.
const ROUNDS: usize = 8;
/// Nops that are stepped one by one afterwards.
const STEPS: u64 = 48;
/// What starts a round.
const KICK: i32 = libc::SIGUSR1;

/// ATOMICS, all of them: set in the child before its first signal, read by its handler.
static REPORT: AtomicPtr<Report> = AtomicPtr::new(null_mut());
static EVENT: AtomicI32 = AtomicI32::new(-1);
static THE_PERIOD: AtomicU64 = AtomicU64::new(0);
/// Counter at the last arming, and whether stops re-arm.
static BASE: AtomicU64 = AtomicU64::new(0);
static AGAIN: AtomicI32 = AtomicI32::new(0);

/// Measures tail and skid, then steps with a period of tail + `wanted`.
///
/// # Errors
/// [`Failure::Refused`] without a PMU, [`Failure::Silent`] when no overflow came.
pub fn calibrate(event: Counted, delivery: Delivery, wanted: u64) -> Result<Calibration, Failure> {
    let stops = child::run(|report| measure(report, event, delivery, PERIOD, false), stops)?;
    let far = child::run(|report| measure(report, event, delivery, LONG_PERIOD, false), self::stops)?;
    let mut skid = BTreeMap::new();
    for over in stops.iter().filter_map(|stop| stop.counted.checked_sub(PERIOD)) {
        *skid.entry(over).or_insert(0_u32) += 1;
    }
    let skid: Vec<_> = skid.into_iter().collect();
    let near = excess(&stops).ok_or(Failure::Silent { counted: 0 })?;
    let far = excess(&far).ok_or(Failure::Silent { counted: 0 })?;
    let per_million = far.saturating_sub(near) * 1_000_000 / (LONG_PERIOD - PERIOD);
    let tail = near.saturating_sub((per_million * PERIOD).div_ceil(1_000_000));
    let smallest_period = counter::smallest_period(event)?.unwrap_or(PERIOD);
    let period = (tail + wanted).max(smallest_period);
    let steps = child::run(|report| measure(report, event, delivery, period, true), self::stops)?;
    let mut progress = BTreeMap::new();
    for (before, after) in steps.iter().zip(steps.iter().skip(1)) {
        *progress.entry(after.nops.saturating_sub(before.nops)).or_insert(0_u32) += 1;
    }
    Ok(Calibration {
        tail,
        period,
        overcount: per_million,
        smallest_period,
        skid,
        progress: progress.into_iter().collect(),
    })
}

/// What the counter had beyond the nops that ran: the excess seen most often, since interrupts add to some.
fn excess(stops: &[Stop]) -> Option<u64> {
    let mut found = BTreeMap::new();
    for excess in stops.iter().filter_map(|stop| stop.counted.checked_sub(stop.nops)) {
        *found.entry(excess).or_insert(0_u32) += 1;
    }
    found.into_iter().max_by_key(|(_, times)| *times).map(|(excess, _)| excess)
}

/// One overflow.
struct Stop {
    /// Since the counter was armed.
    counted: u64,
    /// Nops that had run.
    nops: u64,
}

fn stops(report: &Report) -> Result<Vec<Stop>, Failure> {
    counter::refusal(report)?;
    match report.broken.load(Relaxed) {
        0 if report.hits.load(Relaxed) == 0 => {
            return Err(Failure::Silent { counted: report.count.load(Relaxed) });
        }
        0 => {}
        errno => return Err(Failure::Rearm { errno }),
    }
    let sled = first_nop();
    let stop = |entry: &super::report::Entry| {
        let nops = entry.rip.load(Relaxed).wrapping_sub(sled);
        (nops <= NOPS).then(|| Stop { counted: entry.data.load(Relaxed), nops })
    };
    Ok(report.kept().iter().filter_map(stop).collect())
}

fn measure(report: &Report, event: Counted, delivery: Delivery, period: u64, again: bool) {
    REPORT.store(std::ptr::from_ref(report).cast_mut(), Relaxed);
    let signals = [libc::SIGTRAP, libc::SIGIO, catcher::REALTIME, KICK];
    if report.note(action::install(&signals, on_stop as *const ())).is_none() {
        return;
    }
    let Some(fd) = counter::open_counter(report, event, period, delivery) else { return };
    EVENT.store(fd, Relaxed);
    THE_PERIOD.store(period, Relaxed);
    AGAIN.store(i32::from(again), Relaxed);
    let (pid, tid) = (getpid(), gettid());
    for _ in 0..if again { 1 } else { ROUNDS } {
        kick_and_walk(pid.into(), tid.into(), KICK as u64);
    }
    report.count.store(report.note(ioctl::count(fd)).unwrap_or(0), Relaxed);
}

handler_with_tail! {
    /// # Safety
    /// Called by the kernel as a handler.
    on_stop => stopped
}

/// The counter to re-arm, or -1.
///
/// # Signal safety
/// Atomics and raw system calls.
unsafe extern "C" fn stopped(
    signal: i32,
    info: *const libc::siginfo_t,
    context: *const libc::ucontext_t,
) -> i32 {
    // SAFETY: `measure` stored the shared page, which stays mapped until the child ends.
    let Some(report) = (unsafe { REPORT.load(Relaxed).as_ref() }) else { return -1 };
    // SAFETY: the kernel passes both.
    let (code, rip) = unsafe { ((*info).si_code, (*context).uc_mcontext.gregs[libc::REG_RIP as usize]) };
    let fd = EVENT.load(Relaxed);
    let count = report.note(ioctl::count(fd)).unwrap_or(0);
    let kicked = signal == KICK;
    if !kicked {
        report.record(signal, code, rip as u64, count - BASE.load(Relaxed), gettid());
    }
    let far =
        (rip as u64).wrapping_sub(first_nop()) >= STEPS || report.hits.load(Relaxed) as usize >= ENTRIES;
    if !kicked && (AGAIN.load(Relaxed) == 0 || far) {
        return -1;
    }
    BASE.store(count, Relaxed);
    // What an overflow ran over is taken off the next period, unless the period is set anew.
    report.note(ioctl::period(fd, THE_PERIOD.load(Relaxed)));
    fd
}

/// Bytes before the first nop of [`kick_and_walk`].
const BEFORE_NOPS: u64 = 7;

fn first_nop() -> u64 {
    kick_and_walk as *const () as u64 + BEFORE_NOPS
}

/// tgkill(`process`, `thread`, `signal`), then [`NOPS`] nops.
#[unsafe(naked)]
extern "C" fn kick_and_walk(process: u64, thread: u64, signal: u64) {
    naked_asm!(
        "mov eax, {tgkill}",
        "syscall",
        ".rept {nops}",
        "nop",
        ".endr",
        "ret",
        tgkill = const libc::SYS_tgkill,
        nops = const NOPS,
    )
}
