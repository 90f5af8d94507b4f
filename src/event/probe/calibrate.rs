//! A counter measured where the answer is known: on instructions of one kind that a handler's tail returns to.
//!
//! From counts, not from a sweep of periods: the tail is what the counter had at the stop less the instructions that
//! ran, the skid what it had less the period (design, "The handler tail").

#![allow(unsafe_code, reason = "naked code of known length, and a handler that reads its frame")]

use std::arch::naked_asm;
use std::collections::BTreeMap;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU64, Ordering::Relaxed};

use super::failure::Failure;
use super::report::{ENTRIES, Report};
use super::{action, breakpoint, catcher, child, counter};
use crate::event::ioctl;
use crate::event::tail::{NOTHING, Tail, handler_with_tail, refresh};
use crate::raw::{getpid, gettid};
use crate::record::calibration::Calibration;
use crate::record::control::Delivery;
use crate::record::counted::{Counted, Unit};

/// Instructions behind the system call whose signal arms the counter.
const LENGTH: u64 = 4096;
/// Counts from arming to the overflow: above every smallest period known, within the sled. Twice that is measured,
/// too: what a counter counts too much grows with the way, the tail does not.
const PERIOD: u64 = 1000;
/// The same where an instruction may be less than a count: four nops are a cycle on many CPUs.
const SHORT_PERIOD: u64 = 250;
/// x86 raises a count down from less (Linux `arch/x86/events/core.c`, `x86_perf_event_set_period`).
const SHORTEST: u64 = 2;
/// Stops that are measured.
const ROUNDS: usize = 8;
/// Instructions that are stepped one by one afterwards.
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
/// Where the sled in use lies, and how long each of its instructions is.
static FIRST: AtomicU64 = AtomicU64::new(0);
static WIDTH: AtomicU64 = AtomicU64::new(1);

/// Code of one instruction over and over.
#[derive(Clone, Copy)]
enum Sled {
    Nops,
    /// Conditional branches to the next instruction.
    Branches,
}

/// Measures tail and skid of a counter of `event`, whose counts stand for `unit`, then steps with a period of tail +
/// `wanted`.
///
/// # Errors
/// [`Failure::Refused`] without a PMU, [`Failure::Silent`] when no overflow came.
pub fn calibrate(
    event: Counted,
    unit: Unit,
    delivery: Delivery,
    wanted: u64,
) -> Result<Calibration, Failure> {
    let on = |sled| on_sled(sled, event, unit, delivery, wanted);
    match unit {
        Unit::Instruction => on(Sled::Nops),
        Unit::Branch => on(Sled::Branches),
        // Whichever it counts.
        Unit::Other => match on(Sled::Nops) {
            Err(Failure::Silent { .. }) => on(Sled::Branches),
            found => found,
        },
    }
}

fn on_sled(
    sled: Sled,
    event: Counted,
    unit: Unit,
    delivery: Delivery,
    wanted: u64,
) -> Result<Calibration, Failure> {
    let smallest_period = counter::smallest_period(event)?.max(SHORTEST);
    let near_period = if unit == Unit::Other { SHORT_PERIOD } else { PERIOD }.max(smallest_period);
    let measured = |period, again| {
        child::run(
            |report| measure(report, sled, event, delivery, period, again),
            |report| stops(report, sled, event),
        )
    };
    let (near, codes) = measured(near_period, false)?;
    let (far, _) = measured(2 * near_period, false)?;
    let mut skid = BTreeMap::new();
    for over in near.iter().filter_map(|stop| stop.counted.checked_sub(near_period)) {
        *skid.entry(over).or_insert(0_u32) += 1;
    }
    let line = if unit == Unit::Other { line(&near, &far) } else { one_a_count(&near, &far, near_period) };
    let Line { tail, overcount } = line.ok_or(Failure::Silent { counted: 0 })?;
    let period = (tail + wanted).max(smallest_period);
    let (steps, _) = measured(period, true)?;
    let mut progress = BTreeMap::new();
    for (before, after) in steps.iter().zip(steps.iter().skip(1)) {
        *progress.entry(after.ran.saturating_sub(before.ran)).or_insert(0_u32) += 1;
    }
    Ok(Calibration {
        event,
        unit,
        tail,
        period,
        overcount,
        smallest_period,
        codes,
        skid: skid.into_iter().collect(),
        progress: progress.into_iter().collect(),
    })
}

/// What the counter has when no instruction has run, and how much in a million it counts too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    pub tail: u64,
    pub overcount: u64,
}

/// Of an event that counts each instruction of the sled once, from stops `period` counts after arming and from others twice
/// as far; `None` without stops.
#[must_use]
pub fn one_a_count(near: &[Stop], far: &[Stop], period: u64) -> Option<Line> {
    let (near, far) = (excess(near)?, excess(far)?);
    let overcount = far.saturating_sub(near) * 1_000_000 / period;
    Some(Line { tail: near.saturating_sub((overcount * period).div_ceil(1_000_000)), overcount })
}

/// Of any other: the straight line through the middle of the near stops and of the far ones.
fn line(near: &[Stop], far: &[Stop]) -> Option<Line> {
    let (near, far) = (middle(near)?, middle(far)?);
    let (ran, counted) = (far.ran.checked_sub(near.ran)?, far.counted.checked_sub(near.counted)?);
    let of_the_way = (near.ran * counted).checked_div(ran)?;
    Some(Line { tail: near.counted.saturating_sub(of_the_way), overcount: 0 })
}

/// The stop with the middle count.
fn middle(stops: &[Stop]) -> Option<Stop> {
    let mut stops = stops.to_vec();
    stops.sort_by_key(|stop| stop.counted);
    stops.get(stops.len() / 2).copied()
}

/// What the counter had beyond the instructions that ran: the excess seen most often, since interrupts add to some.
fn excess(stops: &[Stop]) -> Option<u64> {
    let mut found = BTreeMap::new();
    for excess in stops.iter().filter_map(|stop| stop.counted.checked_sub(stop.ran)) {
        *found.entry(excess).or_insert(0_u32) += 1;
    }
    found.into_iter().max_by_key(|(_, times)| *times).map(|(excess, _)| excess)
}

/// One overflow.
#[derive(Clone, Copy, Debug)]
pub struct Stop {
    /// Since the counter was armed.
    pub counted: u64,
    /// Instructions of the sled that had run.
    pub ran: u64,
}

/// The stops on the sled, and the `si_code`s of all.
#[allow(clippy::type_complexity, reason = "as the calibration has them")]
fn stops(report: &Report, sled: Sled, event: Counted) -> Result<(Vec<Stop>, Vec<(String, u32)>), Failure> {
    counter::refusal(report, event)?;
    match report.broken.load(Relaxed) {
        0 if report.hits.load(Relaxed) == 0 => {
            return Err(Failure::Silent { counted: report.count.load(Relaxed) });
        }
        0 => {}
        errno => return Err(Failure::Rearm { errno }),
    }
    let stop = |entry: &super::report::Entry| {
        let ran = entry.rip.load(Relaxed).wrapping_sub(sled.first()) / sled.width();
        (ran <= LENGTH).then(|| Stop { counted: entry.data.load(Relaxed), ran })
    };
    let codes = breakpoint::codes(report.kept());
    let codes = codes.into_iter().map(|(code, times)| (code.to_owned(), times)).collect();
    Ok((report.kept().iter().filter_map(stop).collect(), codes))
}

fn measure(report: &Report, sled: Sled, event: Counted, delivery: Delivery, period: u64, again: bool) {
    REPORT.store(std::ptr::from_ref(report).cast_mut(), Relaxed);
    let signals = [libc::SIGTRAP, libc::SIGIO, catcher::REALTIME, KICK];
    if report.note(action::install(&signals, on_stop as *const ())).is_none() {
        return;
    }
    let Some(fd) = counter::open_counter(report, event, period, delivery) else { return };
    EVENT.store(fd, Relaxed);
    THE_PERIOD.store(period, Relaxed);
    AGAIN.store(i32::from(again), Relaxed);
    FIRST.store(sled.first(), Relaxed);
    WIDTH.store(sled.width(), Relaxed);
    let (pid, tid) = (getpid(), gettid());
    for _ in 0..if again { 1 } else { ROUNDS } {
        (sled.code())(pid.into(), tid.into(), KICK as u64);
    }
    report.count.store(report.note(ioctl::reading(fd)).unwrap_or_default().count, Relaxed);
}

handler_with_tail! {
    /// # Safety
    /// Called by the kernel as a handler.
    on_stop => stopped
}

/// The counter to re-arm, if any.
///
/// # Signal safety
/// Atomics and raw system calls.
unsafe extern "C" fn stopped(
    signal: i32,
    info: *const libc::siginfo_t,
    context: *const libc::ucontext_t,
) -> Tail {
    // SAFETY: `measure` stored the shared page, which stays mapped until the child ends.
    let Some(report) = (unsafe { REPORT.load(Relaxed).as_ref() }) else { return NOTHING };
    // SAFETY: the kernel passes both.
    let (code, rip) = unsafe { ((*info).si_code, (*context).uc_mcontext.gregs[libc::REG_RIP as usize]) };
    let fd = EVENT.load(Relaxed);
    let count = report.note(ioctl::reading(fd)).unwrap_or_default().count;
    let kicked = signal == KICK;
    if !kicked {
        report.record(signal, code, rip as u64, count - BASE.load(Relaxed), gettid());
    }
    let walked = (rip as u64).wrapping_sub(FIRST.load(Relaxed));
    let far = walked >= STEPS * WIDTH.load(Relaxed) || report.hits.load(Relaxed) as usize >= ENTRIES;
    if !kicked && (AGAIN.load(Relaxed) == 0 || far) {
        return NOTHING;
    }
    BASE.store(count, Relaxed);
    // What an overflow ran over is taken off the next period, unless the period is set anew.
    report.note(ioctl::period(fd, THE_PERIOD.load(Relaxed)));
    refresh(fd)
}

/// Bytes before the first instruction of a sled.
const BEFORE: u64 = 7;

impl Sled {
    fn code(self) -> extern "C" fn(u64, u64, u64) {
        match self {
            Self::Nops => kick_and_walk,
            Self::Branches => kick_and_branch,
        }
    }

    fn first(self) -> u64 {
        self.code() as *const () as u64 + BEFORE
    }

    /// Bytes of each instruction.
    const fn width(self) -> u64 {
        match self {
            Self::Nops => 1,
            Self::Branches => 2,
        }
    }
}

/// tgkill(`process`, `thread`, `signal`), then [`LENGTH`] nops.
#[unsafe(naked)]
extern "C" fn kick_and_walk(process: u64, thread: u64, signal: u64) {
    naked_asm!(
        "mov eax, {tgkill}",
        "syscall",
        ".rept {length}",
        "nop",
        ".endr",
        "ret",
        tgkill = const libc::SYS_tgkill,
        length = const LENGTH,
    )
}

/// The same with `jz` to the next instruction, written as bytes: an assembler may choose a longer form.
#[unsafe(naked)]
extern "C" fn kick_and_branch(process: u64, thread: u64, signal: u64) {
    naked_asm!(
        "mov eax, {tgkill}",
        "syscall",
        ".rept {length}",
        ".byte 0x74, 0",
        ".endr",
        "ret",
        tgkill = const libc::SYS_tgkill,
        length = const LENGTH,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stops(all: &[(u64, u64)]) -> Vec<Stop> {
        all.iter().map(|&(counted, ran)| Stop { counted, ran }).collect()
    }

    #[test]
    fn a_tail_is_told_from_what_is_counted_too_much() {
        let near = stops(&[(1002, 1000), (1002, 1000), (1009, 1006)]);
        let exact = one_a_count(&near, &stops(&[(2002, 2000)]), 1000).unwrap();
        assert_eq!((exact.tail, exact.overcount), (2, 0));
        // One in a hundred too many.
        let over = one_a_count(&stops(&[(1000, 988)]), &stops(&[(2000, 1978)]), 1000).unwrap();
        assert_eq!((over.tail, over.overcount), (2, 10_000));
        assert!(one_a_count(&[], &near, 1000).is_none());
    }

    #[test]
    fn a_tail_of_something_else_lies_on_the_line_through_both() {
        // Four instructions a count, 40 counts of tail.
        let found = line(&stops(&[(250, 840), (251, 844), (600, 900)]), &stops(&[(500, 1840)])).unwrap();
        assert_eq!(found.tail, 251 - 844 * (500 - 251) / (1840 - 844));
        assert!(line(&stops(&[(250, 840)]), &stops(&[(250, 840)])).is_none(), "no line through one point");
    }
}
