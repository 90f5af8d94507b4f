//! A counter measured where the answer is known: on instructions of one kind that a handler's tail returns to.
//!
//! From counts, not from a sweep of periods ([`super::reckon`]); what went wrong on the way is counted, and measured again.

#![allow(unsafe_code, reason = "naked code of known length, and a handler that reads its frame")]

use std::arch::naked_asm;
use std::collections::BTreeMap;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering::Relaxed};

use super::failure::Failure;
use super::reckon::{Line, Stop, line, one_a_count, short_periods};
use super::report::{ENTRIES, Report};
use super::{action, breakpoint, catcher, child, counter};
use crate::event::ioctl::{self, Reading};
use crate::event::tail::{NOTHING, Tail, enable, handler_with_tail, refresh};
use crate::raw::{getpid, gettid};
use crate::record::calibration::{Calibration, Troubles};
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
/// Stops that are measured, and rounds that may be made for them: signals get lost, and counters are taken away.
const ROUNDS: u32 = 8;
const MOST_ROUNDS: u32 = 24;
/// Instructions that are stepped one by one afterwards, and stops that are enough of them.
const STEPS: u64 = 48;
const ENOUGH_STEPS: u32 = 8;
/// What starts a round.
const KICK: i32 = libc::SIGUSR1;

/// ATOMICS, all of them: set in the child before its first signal, read by its handler.
static REPORT: AtomicPtr<Report> = AtomicPtr::new(null_mut());
static EVENT: AtomicI32 = AtomicI32::new(-1);
static THE_PERIOD: AtomicU64 = AtomicU64::new(0);
/// Counter and its clocks at the last arming, whether the overflow that it was armed for is still to come, and whether stops
/// re-arm.
static BASE: AtomicU64 = AtomicU64::new(0);
static BASE_ENABLED: AtomicU64 = AtomicU64::new(0);
static BASE_RUNNING: AtomicU64 = AtomicU64::new(0);
static PENDING: AtomicBool = AtomicBool::new(false);
static ROUND: AtomicU32 = AtomicU32::new(0);
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
    let mut troubles = Troubles::default();
    let mut counted = 0;
    let mut measured = |period, again| {
        let measured = child::run(
            |report| measure(report, sled, event, delivery, period, again),
            |report| stops(report, sled, event),
        )?;
        counted += measured.counted;
        troubles.add(&measured.troubles);
        Ok::<_, Failure>(measured)
    };
    let near = measured(near_period, false)?;
    let far = measured(2 * near_period, false)?;
    let mut skid = BTreeMap::new();
    for over in near.stops.iter().filter_map(|stop| stop.counted.checked_sub(near_period)) {
        *skid.entry(over).or_insert(0_u32) += 1;
    }
    let line = if unit == Unit::Other {
        line(&near.stops, &far.stops)
    } else {
        let mut short = Vec::new();
        for period in short_periods(&near.stops, &far.stops, smallest_period) {
            short.extend(measured(period, false)?.stops);
        }
        one_a_count(&short, &near.stops, &far.stops)
    };
    let Some(Line { tail, overcount }) = line else { return Err(without_stops(troubles, counted)) };
    let period = (tail + wanted).max(smallest_period);
    let steps = measured(period, true)?;
    let mut progress = BTreeMap::new();
    for (before, after) in steps.stops.iter().zip(steps.stops.iter().skip(1)) {
        if before.round == after.round {
            *progress.entry(after.ran.saturating_sub(before.ran)).or_insert(0_u32) += 1;
        }
    }
    let codes = near.codes;
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
        troubles,
    })
}

/// Why no stop can be used.
const fn without_stops(troubles: Troubles, counted: u64) -> Failure {
    if troubles.away > 0 {
        Failure::Shared { per_mille: 1000 - troubles.missed }
    } else {
        Failure::Silent { counted }
    }
}

/// What a child has measured.
struct Measured {
    /// On the sled.
    stops: Vec<Stop>,
    /// The `si_code`s of all stops.
    codes: Vec<(String, u32)>,
    troubles: Troubles,
    /// By the event, in all.
    counted: u64,
}

fn stops(report: &Report, sled: Sled, event: Counted) -> Result<Measured, Failure> {
    counter::refusal(report, event)?;
    match report.broken.load(Relaxed) {
        0 => {}
        errno => return Err(Failure::Rearm { errno }),
    }
    let stop = |entry: &super::report::Entry| {
        let ran = entry.rip.load(Relaxed).wrapping_sub(sled.first()) / sled.width();
        let (counted, round) = (entry.data.load(Relaxed), entry.thread.load(Relaxed));
        (ran <= LENGTH).then_some(Stop { counted, ran, round })
    };
    let codes = breakpoint::codes(report.kept());
    Ok(Measured {
        stops: report.kept().iter().filter_map(stop).collect(),
        codes: codes.into_iter().map(|(code, times)| (code.to_owned(), times)).collect(),
        troubles: Troubles {
            armed: report.armed.load(Relaxed),
            lost: report.lost.load(Relaxed),
            away: report.away.load(Relaxed),
            missed: report.missed.load(Relaxed),
        },
        counted: report.count.load(Relaxed),
    })
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
    let enough = if again { ENOUGH_STEPS } else { ROUNDS };
    for round in 0..MOST_ROUNDS {
        ROUND.store(round, Relaxed);
        (sled.code())(pid.into(), tid.into(), KICK as u64);
        let reading = report.note(ioctl::reading(fd)).unwrap_or_default();
        if PENDING.load(Relaxed) {
            let since = reading.since(&base());
            if since.count >= period {
                // It has stopped the counter all the same.
                report.lost.fetch_add(1, Relaxed);
                PENDING.store(false, Relaxed);
            } else if since.per_mille_counted().is_some() {
                // The sled is longer than the period.
                report.away.fetch_add(1, Relaxed);
            }
        }
        if report.hits.load(Relaxed) >= enough {
            break;
        }
    }
    let reading = report.note(ioctl::reading(fd)).unwrap_or_default();
    report.count.store(reading.count, Relaxed);
    if report.away.load(Relaxed) > 0 {
        let counted = (reading.running * 1000).checked_div(reading.enabled).unwrap_or(1000);
        report.missed.store(1000 - counted.min(1000), Relaxed);
    }
}

/// What the counter had when it was last armed.
fn base() -> Reading {
    Reading {
        count: BASE.load(Relaxed),
        enabled: BASE_ENABLED.load(Relaxed),
        running: BASE_RUNNING.load(Relaxed),
    }
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
    let reading = report.note(ioctl::reading(fd)).unwrap_or_default();
    let kicked = signal == KICK;
    if !kicked {
        PENDING.store(false, Relaxed);
        let since = reading.since(&base());
        if since.per_mille_counted().is_some() {
            report.away.fetch_add(1, Relaxed);
        } else {
            report.record(signal, code, rip as u64, since.count, ROUND.load(Relaxed));
        }
    }
    let walked = (rip as u64).wrapping_sub(FIRST.load(Relaxed));
    let done = walked >= STEPS * WIDTH.load(Relaxed) || report.hits.load(Relaxed) as usize >= ENTRIES;
    if !kicked && (AGAIN.load(Relaxed) == 0 || done) {
        return NOTHING;
    }
    BASE.store(reading.count, Relaxed);
    BASE_ENABLED.store(reading.enabled, Relaxed);
    BASE_RUNNING.store(reading.running, Relaxed);
    report.armed.fetch_add(1, Relaxed);
    // What an overflow ran over is taken off the next period, unless the period is set anew.
    report.note(ioctl::period(fd, THE_PERIOD.load(Relaxed)));
    // One more overflow than are left, unless the last one is still to come.
    if PENDING.swap(true, Relaxed) { enable(fd) } else { refresh(fd) }
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
