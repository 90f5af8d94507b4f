//! A breakpoint that moves through the sled, one hit an instruction: by sigtrap, or by fasync with one re-arm.

use std::sync::atomic::Ordering::Relaxed;

use super::failure::{Failure, Fired, Held};
use super::report::{Entry, Report};
use super::{catcher, child, sled};
use crate::address::RuntimeAddr;
use crate::event::error::{OpenError, Wanted};
use crate::event::siginfo::{POLL_HUP, POLL_IN, TRAP_PERF, code_name};
use crate::event::{attr, fasync, ioctl, open, rearm};
use crate::raw::{Errno, gettid};
use crate::record::control::{Delivery, Rearm};

/// What comes back in `si_perf_data`.
pub(super) const TAG: u64 = 0x6f76_6572_7374_6570;

/// Whether each hit of a moving breakpoint gives a SIGTRAP at its address.
///
/// # Errors
/// The first thing that went wrong, [`Failure::Refused`] with the remedy when the event cannot be had.
pub fn sigtrap() -> Result<Fired, Failure> {
    child::run(|report| walk(report, Delivery::Sigtrap, None), |report| judge(report, Delivery::Sigtrap))
}

/// Whether each hit of a moving breakpoint gives a real-time signal at its address, re-armed by `way`.
///
/// # Errors
/// As [`sigtrap`].
pub fn fasync(way: Rearm) -> Result<Fired, Failure> {
    child::run(|report| walk(report, Delivery::Fasync, Some(way)), |report| judge(report, Delivery::Fasync))
}

/// In the child: opens, walks, counts.
fn walk(report: &Report, delivery: Delivery, way: Option<Rearm>) {
    if report.note(catcher::install(report)).is_none() {
        return;
    }
    let event = match open::raw(&attr::step(sled::at(0), delivery, TAG), 0) {
        Ok(event) => event,
        Err(errno) => return report.refused.store(errno.0, Relaxed),
    };
    catcher::follow(event, way);
    if let Some(way) = way {
        let armed =
            fasync::direct(event, gettid(), catcher::REALTIME).and_then(|()| rearm::start(event, way));
        report.note(armed);
    }
    sled::walk();
    report.note(ioctl::disable(event));
    report.count.store(report.note(ioctl::count(event)).unwrap_or(0), Relaxed);
}

fn judge(report: &Report, delivery: Delivery) -> Result<Fired, Failure> {
    let refused = report.refused.load(Relaxed);
    if refused != 0 {
        return Err(OpenError::here(Errno(refused), Wanted::Step).into());
    }
    for (hit, entry) in (0..).zip(report.kept()) {
        in_place(hit, entry, sled::at(hit))?;
        expected_code(hit, entry, delivery)?;
    }
    let hits = report.hits.load(Relaxed);
    match report.broken.load(Relaxed) {
        0 if hits == sled::LENGTH => Ok(Fired { hits, codes: codes(report.kept()), held: Held::Never }),
        0 => Err(Failure::Missed { hits, of: sled::LENGTH }),
        errno => Err(Failure::Rearm { errno }),
    }
}

/// Whether the saved RIP was `expected`.
pub(super) fn in_place(hit: u32, entry: &Entry, expected: RuntimeAddr) -> Result<(), Failure> {
    let found = RuntimeAddr(entry.rip.load(Relaxed));
    if found == expected { Ok(()) } else { Err(Failure::Misplaced { hit, expected, found }) }
}

/// Whether the signal is one that this delivery sends.
pub(super) fn expected_code(hit: u32, entry: &Entry, delivery: Delivery) -> Result<(), Failure> {
    let (signal, code) = (entry.signal.load(Relaxed), entry.code.load(Relaxed));
    let fits = match delivery {
        Delivery::Sigtrap => signal == libc::SIGTRAP && code == TRAP_PERF && entry.data.load(Relaxed) == TAG,
        Delivery::Fasync => signal == catcher::REALTIME && (code == POLL_IN || code == POLL_HUP),
        // Both TRAP_TRACE and, from older kernels, SI_KERNEL have been seen for a single step.
        Delivery::Trap => signal == libc::SIGTRAP && code != TRAP_PERF,
    };
    if fits { Ok(()) } else { Err(Failure::Unexpected { hit, signal, code }) }
}

/// The sequence of `si_code`s, run-length encoded.
pub(super) fn codes(entries: &[Entry]) -> Vec<(&'static str, u32)> {
    let mut runs: Vec<(&'static str, u32)> = Vec::new();
    for entry in entries {
        let name = code_name(entry.signal.load(Relaxed), entry.code.load(Relaxed));
        match runs.last_mut() {
            Some((last, times)) if *last == name => *times += 1,
            _ => runs.push((name, 1)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(stops: &[(u32, i32)]) -> Report {
        let report = Report {
            hits: 0.into(),
            refused: 0.into(),
            broken: 0.into(),
            count: 0.into(),
            missed: 0.into(),
            armed: 0.into(),
            lost: 0.into(),
            away: 0.into(),
            entries: std::array::from_fn(|_| Entry::default()),
        };
        for (at, code) in stops {
            report.record(catcher::REALTIME, *code, sled::at(*at).0, 0, 1);
        }
        report
    }

    #[test]
    fn one_missing_signal_is_a_failure() {
        let all: Vec<_> = (0..sled::LENGTH).map(|at| (at, POLL_HUP)).collect();
        let fired = judge(&page(&all), Delivery::Fasync).unwrap();
        assert_eq!(fired, Fired { hits: 64, codes: vec![("POLL_HUP", 64)], held: Held::Never });
        let (_, short) = all.split_last().unwrap();
        assert_eq!(judge(&page(short), Delivery::Fasync), Err(Failure::Missed { hits: 63, of: 64 }));
        assert_eq!(judge(&page(&all[..1]), Delivery::Fasync), Err(Failure::Missed { hits: 1, of: 64 }));
    }

    #[test]
    fn a_signal_off_its_address_is_a_failure() {
        let late = judge(&page(&[(0, POLL_IN), (2, POLL_IN)]), Delivery::Fasync);
        assert_eq!(late, Err(Failure::Misplaced { hit: 1, expected: sled::at(1), found: sled::at(2) }));
    }

    #[test]
    fn a_signal_of_another_kind_is_a_failure() {
        let alien = judge(&page(&[(0, libc::SI_USER)]), Delivery::Fasync);
        assert_eq!(alien, Err(Failure::Unexpected { hit: 0, signal: catcher::REALTIME, code: 0 }));
    }

    #[test]
    fn codes_keep_their_order() {
        let report = page(&[(0, POLL_IN), (1, POLL_IN), (2, POLL_HUP), (3, POLL_IN)]);
        assert_eq!(codes(report.kept()), [("POLL_IN", 2), ("POLL_HUP", 1), ("POLL_IN", 1)]);
    }
}
