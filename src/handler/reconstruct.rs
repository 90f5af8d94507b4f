//! More than one instruction between two stops of the counter: the way control took, if only one fits what was counted.

use super::calls::count_entry;
use super::code::peek;
use super::counter::{Again, Counted, State, Taken};
use super::pending::PendingRow;
use super::signal_frame::RETURN_ADDRESS;
use super::stepper::{Stepper, rsp_after, stack_movement};
use super::thread::Phase;
use super::way::{LONGEST, Length, Search, Way, is_branch};
use super::wrapper;
use crate::image::class::Class;
use crate::record::counted::Unit;
use crate::record::marker::LostReason;
use crate::record::verdict::Verdict;
use crate::registers::{RSP, flag};

/// Overflows in a row with nothing retired after which the stepper gives up.
const WATCHDOG: u64 = 1000;

impl Stepper<'_> {
    /// The counter has overflowed, and its signal is being taken.
    ///
    /// # Signal safety
    /// As `Stepper::arrive`; each search decodes a bounded number of instructions.
    pub(super) fn overflowed(&mut self, counted: Counted) {
        if let Some(share) = counted.partly {
            self.process.progress.note_absence();
            return self.lose(LostReason::NotCounting, share);
        }
        let retired = counted.retired;
        let Some(first) = self.thread.pending.rows().first().map(|row| row.fetched.address()) else {
            return self.lose(LostReason::PathUnknown, retired);
        };
        let mut way = Way::new();
        match self.way_of(retired, &mut way) {
            (Search::One, ahead) => {
                self.process.progress.note_overcount(ahead);
                self.follow(&way);
            }
            (Search::None, _) if self.saved.rip() == first => self.nothing_retired(retired),
            _ => self.lose(LostReason::PathUnknown, retired),
        }
    }

    /// A standing breakpoint's stop has come before the counter's: what was counted includes the beginning of this
    /// handler. Comes back here at once, with nothing run in between, to find out how much that is, and whether the
    /// counter's signal was held back by this handler.
    ///
    /// # Signal safety
    /// As `Stepper::overflowed`.
    pub(super) fn stopped_before(&mut self, counted: Counted, again: Option<Again>) {
        let rip = self.saved.rip();
        match again {
            Some(again) if again.at == rip => self.stopped_again(again, counted.retired),
            _ => self.come_again(Again { at: rip, first: counted, signalled: false }),
        }
    }

    /// A signal of the program's has come while the counter ran, or `instead` of the counter's, and goes nowhere for now.
    /// This handler's beginning was counted: armed once more as it is, the counter would stop each instruction before it
    /// has run, by the overflow that it had in the beginning of the handler before.
    ///
    /// # Signal safety
    /// As `Stepper::overflowed`.
    pub(super) fn interrupted(&mut self, instead: bool) {
        let counted = self.thread.counter.stop(self.process, Taken::Anothers);
        let again = self.thread.counter.again.take();
        let rip = self.saved.rip();
        if self.thread.phase != Phase::Stepping || wrapper::contains(rip) {
            return;
        }
        self.know_stack();
        match (counted, again) {
            (_, Some(again)) => self.come_again(again),
            (Some(counted), None) => {
                let stands =
                    self.thread.pending.rows().first().is_some_and(|row| row.fetched.address() == rip);
                let mut way = Way::new();
                match self.only_way_of(1..=counted.retired, &mut way) {
                    Search::None if stands => self.await_stop(self.thread.expected, false),
                    Search::One if !stands => self.follow(&way),
                    _ => self.lose(LostReason::PathUnknown, counted.retired),
                }
            }
            (None, None) if instead => self.await_stop(self.thread.expected, false),
            (None, None) => {}
        }
    }

    /// Has the breakpoint at RIP fire once more.
    pub(super) fn come_again(&mut self, again: Again) {
        if let Err(errno) = self.thread.counter.arm_to_measure(self.process, again) {
            return self.mute(LostReason::Rearm, errno.0 as u64);
        }
        self.saved.set_flag(flag::RF, false);
    }

    /// The breakpoint has fired again, and the counter has counted this handler's `beginning`.
    fn stopped_again(&mut self, again: Again, beginning: u64) {
        let Again { first, signalled, .. } = again;
        if let Some(share) = first.partly {
            self.process.progress.note_absence();
            return self.lose(LostReason::NotCounting, share);
        }
        let mut way = Way::new();
        let without = first.retired.saturating_sub(beginning);
        let found = match (self.process.settings.counting.unit, first.counter) {
            (Unit::Other, _) => self.way_of(0, &mut way).0,
            (_, State::Running) => self.way_of(without, &mut way).0,
            // It ran out of its period on the way here, or in the beginning of the handler.
            (_, State::Stopped) if signalled => self.only_way_of(without..=first.retired, &mut way),
            (_, State::Stopped) => {
                self.process.progress.note_lost_signal();
                return self.lose(LostReason::SignalLost, 1);
            }
        };
        match found {
            Search::One => self.follow(&way),
            // Of what was counted, nobody knows how much is this handler's.
            _ if first.counter == State::Stopped => self.lose(self.came_upon(), 0),
            Search::None | Search::Many => self.lose(LostReason::PathUnknown, without),
        }
    }

    /// What it is called that control is at this breakpoint, and not where the counter was to stop it.
    fn came_upon(&self) -> LostReason {
        if self.process.function_at(self.saved.rip()).is_some() {
            LostReason::Resumed
        } else {
            LostReason::ReturnedUnseen
        }
    }

    /// The way from the pending instruction to RIP on which `retired` counts were made, or the longest that is shorter:
    /// an interrupt or a fault adds to the count. By how many it is shorter.
    fn way_of(&self, retired: u64, way: &mut Way) -> (Search, u64) {
        if self.process.settings.counting.unit == Unit::Other {
            return (self.search(self.thread.expected, Length::Any, self.saved.rip(), way), 0);
        }
        for counts in (0..=retired.min(LONGEST as u64)).rev() {
            let found = self.search_counted(counts, way);
            if found != Search::None {
                return (found, retired - counts);
            }
        }
        (Search::None, 0)
    }

    /// The way from the pending instruction to RIP, if it is the only one of those with so many counts.
    fn only_way_of(&self, counts: std::ops::RangeInclusive<u64>, way: &mut Way) -> Search {
        let (least, most) = counts.into_inner();
        if most > LONGEST as u64 {
            return Search::Many;
        }
        let mut all = Search::None;
        let mut other = Way::new();
        for counts in least..=most {
            let into = if all == Search::None { &mut *way } else { &mut other };
            all = match (all, self.search_counted(counts, into)) {
                (all, Search::None) => all,
                (Search::None, Search::One) => Search::One,
                _ => return Search::Many,
            };
        }
        all
    }

    /// Ways on which so many counts were made, those of the pending instructions included.
    fn search_counted(&self, counts: u64, way: &mut Way) -> Search {
        let Some(left) = counts.checked_sub(self.counts_of_pending()) else { return Search::None };
        let length = match self.process.settings.counting.unit {
            Unit::Instruction => Length::Instructions(usize::try_from(left).unwrap_or(LONGEST)),
            Unit::Branch => Length::Branches(left),
            Unit::Other => Length::Any,
        };
        self.search(self.thread.expected, length, self.saved.rip(), way)
    }

    /// What the event counts of the pending instructions: two where the first holds back the stop behind it.
    fn counts_of_pending(&self) -> u64 {
        let rows = self.thread.pending.rows();
        rows.iter().filter(|row| self.is_counted(row.fetched.class)).count() as u64
    }

    fn is_counted(&self, class: Class) -> bool {
        self.process.settings.counting.unit != Unit::Branch || is_branch(class)
    }

    /// RSP behind the pending instructions, as far as their code says it.
    fn stack_behind_pending(&self) -> Option<u64> {
        let mut rsp = self.thread.registers.general[RSP];
        for row in self.thread.pending.rows() {
            // A slide's row, and RSP behind it, are written before it runs.
            if !self.thread.sliding.is_some_and(|slide| slide.begins_at(row.fetched.address())) {
                rsp = rsp.wrapping_add(stack_movement(&row.fetched)?);
            }
        }
        Some(rsp)
    }

    /// RSP at each instruction of `way`, as far as the code says it: from its value behind the pending instruction on, and
    /// back from where control is now.
    fn stack_along(&self, way: &Way, behind_pending: Option<u64>) -> [Option<u64>; LONGEST + 1] {
        let mut all = [None; LONGEST + 1];
        let mut known = behind_pending;
        for (here, (at, _)) in all.iter_mut().zip(way.steps()) {
            *here = known;
            let moved = peek(self.process, at).ok().and_then(|fetched| stack_movement(&fetched));
            known = known.zip(moved).map(|(rsp, moved)| rsp.wrapping_add(moved));
        }
        let mut known = Some(self.saved.rsp());
        for (here, (at, _)) in all.iter_mut().zip(way.steps()).rev() {
            let moved = peek(self.process, at).ok().and_then(|fetched| stack_movement(&fetched));
            known = known.zip(moved).map(|(rsp, moved)| rsp.wrapping_sub(moved)).or(*here);
            *here = here.or(known);
        }
        all
    }

    /// Writes the rows on the way and goes on from its end.
    fn follow(&mut self, way: &Way) {
        let counting = self.process.settings.counting;
        self.thread.counter.zero_steps = 0;
        let stack = self.stack_along(way, self.stack_behind_pending());
        // Near enough to be a frame's place where nothing says it.
        let mut rsp = self.thread.registers.general[RSP];
        let mut counted = self.counts_of_pending();
        // Instructions behind the one that the counter was to stop at.
        let mut late = 0;
        for ((at, next), here) in way.steps().zip(stack) {
            let Ok(fetched) = self.fetch(at) else { return self.lose(LostReason::PathUnknown, way.count()) };
            if let Some(here) = here {
                rsp = here;
                self.thread.frames.pop_above(rsp, self.thread.bounds);
            }
            let depth = self.thread.frames.depth();
            if depth < 0 || !self.thread.pending.push(PendingRow { fetched, next, depth }) {
                return self.lose(LostReason::PathUnknown, way.count());
            }
            self.note_call(&fetched, rsp);
            rsp = rsp_after(&fetched, rsp);
            if fetched.class == Class::Return
                && let Some(top) = self.thread.frames.top()
                && top.returns_to == next
            {
                rsp = top.slot.wrapping_add(RETURN_ADDRESS);
                self.thread.frames.pop_above(rsp, self.thread.bounds);
            }
            late += u32::from(counted >= counting.wanted());
            counted += u64::from(self.is_counted(fetched.class));
        }
        // The counter has stopped the thread before the trigger could.
        if self.is_called() {
            count_entry(self.process, true);
        }
        self.prove(match (counting.unit, late) {
            // Nobody can say where it had to stop.
            (Unit::Other, _) => Verdict::Reconstructed,
            (_, 0) => Verdict::Exact,
            (_, late) => Verdict::Skid(late),
        });
    }

    /// The signal came, and the instruction that it stopped at before is still to run.
    fn nothing_retired(&mut self, counted: u64) {
        self.process.progress.note_overcount(counted);
        self.process.progress.note_zero_step();
        self.thread.counter.zero_steps += 1;
        if self.thread.counter.zero_steps >= WATCHDOG {
            return self.mute(LostReason::NoProgress, WATCHDOG);
        }
        self.thread.pending.verdict = Verdict::Zero;
        self.await_stop(self.thread.expected, false);
    }

    /// Rows are missing; stepping goes on where control is.
    fn lose(&mut self, reason: LostReason, detail: u64) {
        self.note_lost_rows(reason, detail);
        self.thread.counter.zero_steps = 0;
        self.thread.pending.clear();
        self.thread.frames.pop_above(self.saved.rsp(), self.thread.bounds);
        if self.thread.frames.is_empty() {
            return self.end();
        }
        if self.thread.phase != Phase::Muted {
            self.continue_here(Verdict::Lost);
        }
    }
}
