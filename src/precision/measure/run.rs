//! The child's part of a measurement. Not a function of libc's is called in here.

#![allow(unsafe_code, reason = "runs assembly on memory that it maps itself")]

use std::sync::atomic::Ordering::Relaxed;

use super::catcher::{self, Handling};
use super::isolated::{Trouble, measure};
use super::ledger::Ledger;
use super::observation::Observation;
use super::spec::{Pages, Spec};
use crate::event::probe::action;
use crate::event::probe::catcher::REALTIME;
use crate::event::{fasync, ioctl, open};
use crate::precision::event::{Delivery, Nature};
use crate::raw::{Errno, getpid, gettid, syscall};

const PAGE: u64 = 4096;
/// `RUSAGE_THREAD` (`getrusage(2)`).
const RUSAGE_THREAD: u64 = 1;

/// Runs `spec` in a child. `asked` is the number of overflows that it is to cause.
///
/// # Errors
/// [`Trouble`].
pub(in crate::precision) fn observe(spec: &Spec, asked: u64) -> Result<Observation, Trouble> {
    measure(spec.patience, asked, |ledger| run(ledger, spec))
}

fn run(ledger: &Ledger, spec: &Spec) {
    let Some(()) = ledger.note(pin(spec.cpu)) else { return };
    let Some(region) = ledger.note(map(spec.iterations.max(1) * PAGE)) else { return };
    let event = match open::raw(&spec.attr, 0) {
        Ok(event) => event,
        Err(errno) => return ledger.refused.store(errno.0, Relaxed),
    };
    ledger.descriptor.store(event, Relaxed);
    ledger.thread.store(gettid(), Relaxed);
    if spec.delivery == Delivery::Fasync {
        ledger.note(fasync::direct(event, gettid(), REALTIME));
    }
    warm_up(ledger, spec, region);
    if spec.nature == Nature::Counter {
        let request = spec.arming.request();
        catcher::handle(Handling::Step { event, request });
    }
    let before = usage();
    for _ in 0..spec.rounds {
        round(ledger, spec, region, event);
    }
    let after = usage();
    catcher::handle(Handling::Leave);
    ledger.faults.store(after.0 - before.0, Relaxed);
    ledger.switches.store(after.1 - before.1, Relaxed);
    ledger.count.store(ledger.note(ioctl::count(event)).unwrap_or(0), Relaxed);
}

fn round(ledger: &Ledger, spec: &Spec, region: *mut u8, event: i32) {
    if spec.pages == Pages::Fresh {
        ledger.note(give_back(region, spec.iterations * PAGE));
    }
    let blocked = spec.delivery == Delivery::SigtrapBlocked;
    if blocked {
        ledger.note(action::block(u64::MAX));
    }
    // SAFETY: the region has a page for every iteration.
    unsafe {
        let (request, argument) = (spec.arming.request(), spec.arming.argument());
        spec.workload.run(region, spec.iterations, event.into(), request, argument);
    }
    if blocked {
        let open = catcher::SIGNALS.iter().fold(u64::MAX, |mask, signal| mask & !action::bit(*signal));
        ledger.note(action::block(open));
    }
}

/// Touches what the measurement will touch: its code, its record, the stack of a signal. A page that a forked child
/// touches first faults, and would be counted.
fn warm_up(ledger: &Ledger, spec: &Spec, region: *mut u8) {
    // SAFETY: the region has a page for every iteration.
    unsafe { spec.workload.run(region, spec.iterations, -1, 0, 0) };
    let (pid, tid) = (u64::from(getpid()), u64::from(gettid()));
    // SAFETY: a signal to ourselves, whose handler is installed.
    let _ = unsafe { syscall(libc::SYS_tgkill, [pid, tid, REALTIME as u64, 0, 0, 0]) };
    ledger.warm();
}

/// Has this thread run on `cpu` only.
fn pin(cpu: Option<u32>) -> Result<(), Errno> {
    let Some(cpu) = cpu else { return Ok(()) };
    let mut set = [0u64; 128];
    if let Some(word) = set.get_mut(cpu as usize / 64) {
        *word |= 1 << (cpu % 64);
    }
    // SAFETY: `set` lives and has the size stated.
    unsafe {
        syscall(libc::SYS_sched_setaffinity, [0, size_of_val(&set) as u64, set.as_ptr() as u64, 0, 0, 0])
    }
    .map(drop)
}

/// `bytes` of zeroes on small pages.
fn map(bytes: u64) -> Result<*mut u8, Errno> {
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as u64;
    let kind = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as u64;
    // SAFETY: a new anonymous mapping overlaps nothing.
    let region = unsafe { syscall(libc::SYS_mmap, [0, bytes, protection, kind, u64::MAX, 0]) }?;
    // SAFETY: it only advises about a mapping of ours.
    let _ = unsafe { syscall(libc::SYS_madvise, [region, bytes, libc::MADV_NOHUGEPAGE as u64, 0, 0, 0]) };
    Ok(region as *mut u8)
}

fn give_back(region: *mut u8, bytes: u64) -> Result<(), Errno> {
    let advice = libc::MADV_DONTNEED as u64;
    // SAFETY: the memory is ours and holds nothing that is needed again.
    unsafe { syscall(libc::SYS_madvise, [region as u64, bytes, advice, 0, 0, 0]) }.map(drop)
}

/// This thread's page faults and context switches so far.
fn usage() -> (u64, u64) {
    // `struct rusage` of x86_64: sixteen words after two timevals' four.
    let mut usage = [0u64; 18];
    // SAFETY: `usage` lives and has the 144 bytes of a `struct rusage`.
    let _ = unsafe { syscall(libc::SYS_getrusage, [RUSAGE_THREAD, usage.as_mut_ptr() as u64, 0, 0, 0, 0]) };
    let [.., minor, major, _swaps, _in, _out, _sent, _received, _signals, voluntary, involuntary] = usage;
    (minor + major, voluntary + involuntary)
}
