//! Restartable sequences run natively: every signal in one restarts it, the tracer's too (kernel-facts 19).

use super::code::Fetched;
use super::stepper::Stepper;
use super::thread::Phase;
use crate::image::restartable::RestartableSection;
use crate::record::marker::{LostReason, Marker};

impl Stepper<'_> {
    /// `first` is the last instruction before `section`: the next stop is behind it, or where else it is left.
    ///
    /// # Signal safety
    /// As `Stepper::arrive`.
    pub(super) fn run_section(&mut self, first: Fetched, depth: i32, section: &'static RestartableSection) {
        if self.write_foretold(first, depth, section.start).is_err() {
            return self.mute(LostReason::NoRoom, 0);
        }
        self.mark(&Marker::Rseq { start: section.start, end: section.end });
        if self.thread.phase == Phase::Muted {
            return;
        }
        self.thread.phase = Phase::Restartable(section);
        // The return guard waits at a second exit meanwhile. An exit without a debug register is not lost: most
        // abort handlers try again, and the call's end is awaited in any case by its next entry.
        let mut exits = section.exits.iter().copied().filter(|exit| *exit != section.end);
        for breakpoint in [&mut self.thread.exit, &mut self.thread.guard] {
            if let Some(exit) = exits.next() {
                let _ = breakpoint.place(exit, self.process.fasync_signal);
            }
        }
        self.await_stop(section.end, true);
    }

    /// Control is behind the section: the guard goes back to its place.
    pub(super) fn end_section(&mut self) {
        self.thread.exit.lift();
        if let Some(outermost) = self.thread.frames.outermost() {
            let _ = self.thread.guard.place(outermost.returns_to, self.process.fasync_signal);
        }
    }
}
