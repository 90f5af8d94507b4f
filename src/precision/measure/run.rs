//! The child's part of a measurement. Not a function of libc's is called in here.

#![allow(unsafe_code, reason = "runs assembly on memory that it maps itself")]

use std::mem::MaybeUninit;
use std::sync::atomic::Ordering::Relaxed;

use super::catcher::{self, Handling};
use super::isolated::{Trouble, measure};
use super::ledger::Ledger;
use super::observation::Observation;
use super::ring::Ring;
use super::room::{PAGE, give_back, map, pin, usage};
use super::spec::{Pages, Spec};
use crate::event::probe::action;
use crate::event::probe::catcher::REALTIME;
use crate::event::{fasync, ioctl, open};
use crate::precision::event::{Delivery, Nature};
use crate::raw::{getpid, gettid, syscall};

/// Runs `spec` in a child. `asked` is the number of overflows that it is to cause.
///
/// # Errors
/// [`Trouble`].
pub(in crate::precision) fn observe(spec: &Spec, asked: u64) -> Result<Observation, Trouble> {
    measure(spec.patience, asked, |ledger| run(ledger, spec))
}

fn run(ledger: &Ledger, spec: &Spec) {
    let Some(()) = ledger.note(pin(spec.cpu)) else { return };
    let Some(region) = ledger.note(map(spec.pages_needed() * PAGE)) else { return };
    let event = match open::raw(&spec.attr, 0) {
        Ok(event) => event,
        Err(errno) => return ledger.refused.store(errno.0, Relaxed),
    };
    ledger.descriptor.store(event, Relaxed);
    ledger.thread.store(gettid(), Relaxed);
    if spec.delivery == Delivery::Fasync {
        ledger.note(fasync::direct(event, gettid(), REALTIME));
    }
    let samples = spec.attr.sample_type != 0;
    let ring = if samples { ledger.note(Ring::map(event)) } else { None };
    // SAFETY: the region has a page for every iteration.
    unsafe { spec.workload.run(region, spec.iterations, -1, 0, 0) };
    warm_up(ledger);
    if spec.nature == Nature::Counter {
        let request = spec.arming.request();
        catcher::handle(Handling::Step { event, request });
    }
    let before = usage();
    for _ in 0..spec.rounds {
        round(ledger, spec, region, event);
    }
    if spec.nature == Nature::Counter {
        // A signal that came as late as the disarming call has armed it again: from here on the handler disarms it. Without
        // that it would overflow in its own handler again and again.
        catcher::handle(Handling::Step { event, request: ioctl::DISABLE });
        ledger.note(ioctl::disable(event));
    }
    let after = usage();
    catcher::handle(Handling::Leave);
    let preemptions = after.involuntary - before.involuntary;
    ledger.faults.store(after.faults - before.faults, Relaxed);
    ledger.switches.store(after.voluntary - before.voluntary + preemptions, Relaxed);
    ledger.preemptions.store(preemptions, Relaxed);
    if spec.attr.read_format == 0 {
        ledger.count.store(ledger.note(ioctl::count(event)).unwrap_or(0), Relaxed);
    } else {
        let reading = ledger.note(ioctl::reading(event)).unwrap_or_default();
        ledger.count.store(reading.count, Relaxed);
        ledger.enabled.store(reading.enabled, Relaxed);
        ledger.running.store(reading.running, Relaxed);
    }
    if let Some(ring) = ring {
        ring.read(|n, ip| ledger.sample(n, ip));
    }
}

fn round(ledger: &Ledger, spec: &Spec, region: *mut u8, event: i32) {
    if spec.pages == Pages::Fresh {
        ledger.note(give_back(region, spec.pages_needed() * PAGE));
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

/// Touches what a signal will touch: the handler's code, the record, the stack. A page that a forked child touches
/// first faults, and would be counted.
pub(super) fn warm_up(ledger: &Ledger) {
    touch_stack();
    let (pid, tid) = (u64::from(getpid()), u64::from(gettid()));
    // SAFETY: a signal to ourselves, whose handler is installed.
    let _ = unsafe { syscall(libc::SYS_tgkill, [pid, tid, REALTIME as u64, 0, 0, 0]) };
    ledger.warm();
}

/// Writes to the pages that a signal's frame and its handler can reach from here: where they end depends on where the
/// stack was put.
#[inline(never)]
fn touch_stack() {
    const DEPTH: usize = 64 * 1024;
    let mut room = [const { MaybeUninit::<u8>::uninit() }; DEPTH];
    let last = room.len() - 1;
    // The last byte's page may hold nothing else that has been written to.
    for place in (0..last).step_by(PAGE as usize).chain([last]) {
        // SAFETY: the byte is on this stack.
        unsafe { room[place].as_mut_ptr().write_volatile(0) };
    }
}
