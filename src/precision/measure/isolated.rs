//! A child for one measurement, and what came of it.

use std::sync::atomic::Ordering::Relaxed;

use super::catcher;
use super::ledger::Ledger;
use super::observation::Observation;
use crate::event::probe::child::isolate;
use crate::event::probe::failure::Failure;
use crate::precision::plan::Patience;

/// Why a measurement gave no facts to judge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// `perf_event_open` refused, with this errno.
    Refused(i32),
    /// A call after opening failed, with this errno.
    Broken(i32),
    /// The child could not be started, was killed, or did not end; what it had seen by then.
    Ended(Failure, Box<Observation>),
    /// [`Patience::stop`] was requested: the child was killed.
    Stopped,
    /// So many of these signals came as SIGIO, which the kernel sends where the queue has no room for the one that was
    /// asked for (Linux `fs/fcntl.c`, `send_sigio_to_task`).
    QueueFull { as_sigio: u64, signals: u64 },
}

/// Runs `body` in a child with the ledger's signals caught. `asked` is the number of overflows it is to cause.
///
/// # Errors
/// [`Trouble`].
pub(in crate::precision) fn measure(
    patience: Patience,
    asked: u64,
    body: impl FnOnce(&Ledger),
) -> Result<Observation, Trouble> {
    let measured = isolate(
        patience.most,
        || patience.stop.requested(),
        |ledger: &Ledger| {
            if ledger.note(catcher::install(ledger)).is_some() {
                body(ledger);
            }
        },
    );
    let (ledger, end) = measured.map_err(|failure| Trouble::Ended(failure, Box::default()))?;
    let observation = Observation {
        asked,
        signals: u64::from(ledger.signals.load(Relaxed)),
        stops: ledger.stops(),
        count: ledger.count.load(Relaxed),
        enabled: ledger.enabled.load(Relaxed),
        running: ledger.running.load(Relaxed),
        descriptor: ledger.descriptor.load(Relaxed),
        thread: ledger.thread.load(Relaxed),
        faults: ledger.faults.load(Relaxed),
        switches: ledger.switches.load(Relaxed),
        preemptions: ledger.preemptions.load(Relaxed),
        figures: ledger.figures.iter().map(|figure| figure.load(Relaxed)).collect(),
    };
    if patience.stop.requested() {
        return Err(Trouble::Stopped);
    }
    end.map_err(|failure| Trouble::Ended(failure, Box::new(observation.clone())))?;
    match (ledger.refused.load(Relaxed), ledger.broken.load(Relaxed)) {
        (0, 0) => match observation.stops.iter().filter(|stop| stop.signal == libc::SIGIO).count() as u64 {
            0 => Ok(observation),
            as_sigio => Err(Trouble::QueueFull { as_sigio, signals: observation.signals }),
        },
        (0, errno) => Err(Trouble::Broken(errno)),
        (errno, _) => Err(Trouble::Refused(errno)),
    }
}
