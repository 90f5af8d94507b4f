//! A child for one measurement, and what came of it.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::catcher;
use super::ledger::Ledger;
use super::observation::Observation;
use crate::event::probe::child::isolate;
use crate::event::probe::failure::Failure;

/// Why a measurement gave no facts to judge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// `perf_event_open` refused, with this errno.
    Refused(i32),
    /// A call after opening failed, with this errno.
    Broken(i32),
    /// The child could not be started, was killed, or did not end; what it had seen by then.
    Ended(Failure, Box<Observation>),
}

/// Runs `body` in a child with the ledger's signals caught. `asked` is the number of overflows it is to cause.
///
/// # Errors
/// [`Trouble`].
pub(in crate::precision) fn measure(
    patience: Duration,
    asked: u64,
    body: impl FnOnce(&Ledger),
) -> Result<Observation, Trouble> {
    let measured = isolate(patience, |ledger: &Ledger| {
        if ledger.note(catcher::install(ledger)).is_some() {
            body(ledger);
        }
    });
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
    end.map_err(|failure| Trouble::Ended(failure, Box::new(observation.clone())))?;
    match (ledger.refused.load(Relaxed), ledger.broken.load(Relaxed)) {
        (0, 0) => Ok(observation),
        (0, errno) => Err(Trouble::Broken(errno)),
        (errno, _) => Err(Trouble::Refused(errno)),
    }
}
