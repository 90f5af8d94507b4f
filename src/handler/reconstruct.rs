//! More than one instruction between two overflows: the way control took, if only one has that length.

use super::entry::count_entry;
use super::pending::PendingRow;
use super::stepper::{Stepper, moves_stack_unseen, rsp_after};
use super::thread::Phase;
use super::wrapper;
use crate::address::RuntimeAddr;
use crate::image::class::Class;
use crate::image::static_successor::{StaticSuccessors, static_successors};
use crate::record::marker::LostReason;
use crate::record::verdict::Verdict;
use crate::registers::RSP;

/// Longest way that is looked for, in instructions.
const LONGEST: usize = 60;
/// Instructions looked at in one search.
const PATIENCE: u32 = 2048;
/// Overflows in a row with nothing retired after which the stepper gives up.
const WATCHDOG: u64 = 1000;

/// A way from one instruction to another: `nodes[0..=steps]`.
#[derive(Clone)]
struct Way {
    nodes: [RuntimeAddr; LONGEST + 1],
    steps: usize,
}

/// How many ways there are.
enum Search {
    None,
    One,
    Many,
}

impl Stepper<'_> {
    /// The counter has overflowed, `retired` instructions after it was armed by its own account.
    ///
    /// # Signal safety
    /// As `Stepper::arrive`; the search decodes at most [`PATIENCE`] instructions.
    pub(super) fn overflowed(&mut self, retired: u64) {
        if wrapper::contains(self.saved.rip()) {
            // A signal of the program's came first; its wrapper is about to trap, which says what was interrupted.
            return self.pass_standing();
        }
        let wanted = self.process.settings.period - self.process.settings.tail;
        let Some(first) = self.thread.pending.rows().first().map(|row| row.fetched.address()) else {
            return self.lose_path(retired);
        };
        let (rip, next) = (self.saved.rip(), self.thread.expected);
        let longest = usize::try_from(retired).unwrap_or(usize::MAX).min(LONGEST);
        // An interrupt or a fault adds to the count, so a shorter way may be the true one; never a longer one.
        let mut way = Way { nodes: [RuntimeAddr(0); LONGEST + 1], steps: 0 };
        for length in (1..=longest).rev() {
            match self.search(next, length - 1, rip, &mut way) {
                Search::None => {}
                Search::Many => return self.lose_path(retired),
                Search::One => {
                    let ahead = retired - length as u64;
                    self.process.progress.note_overcount(ahead);
                    return self.follow(&way, length as u64, wanted);
                }
            }
        }
        if rip == first {
            return self.nothing_retired(retired);
        }
        self.lose_path(retired);
    }

    /// Writes the rows on the way and goes on from its end.
    fn follow(&mut self, way: &Way, length: u64, wanted: u64) {
        self.thread.counter.zero_steps = 0;
        let first = self.thread.pending.rows().first().copied();
        let mut rsp = first.map(|row| rsp_after(&row.fetched, self.thread.registers.general[RSP]));
        let mut known = first.is_some_and(|row| !moves_stack_unseen(&row.fetched));
        for pair in way.nodes.get(..=way.steps).unwrap_or(&[]).windows(2) {
            let &[at, next] = pair else { break };
            let Ok(fetched) = self.fetch(at) else { return self.lose_path(length) };
            if known && let Some(rsp) = rsp {
                self.thread.frames.pop_above(rsp, self.thread.bounds);
            }
            let depth = self.thread.frames.depth();
            if depth < 0 || !self.thread.pending.push(PendingRow { fetched, next, depth }) {
                return self.lose_path(length);
            }
            if let Some(rsp) = &mut rsp {
                self.note_call(&fetched, *rsp);
                *rsp = rsp_after(&fetched, *rsp);
            }
            known &= !moves_stack_unseen(&fetched);
        }
        // The counter has stopped the thread before the trigger could.
        if self.process.function_at(self.saved.rip()).is_some() {
            count_entry(self.process, true);
        }
        let skid = length.saturating_sub(wanted);
        self.prove(match u32::try_from(skid) {
            Ok(0) | Err(_) => Verdict::Exact,
            Ok(skid) => Verdict::Skid(skid),
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

    /// `retired` rows are missing; stepping goes on where control is.
    fn lose_path(&mut self, retired: u64) {
        self.note_lost_rows(LostReason::PathUnknown, retired);
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

    /// Looks for ways of exactly `steps` instructions from `from` to `to`, in scope all along; `found` becomes one.
    fn search(&self, from: RuntimeAddr, steps: usize, to: RuntimeAddr, found: &mut Way) -> Search {
        let mut way = Way { nodes: [RuntimeAddr(0); LONGEST + 1], steps };
        let mut tried = [0_u8; LONGEST + 1];
        let mut ways = Search::None;
        let mut looked_at = 0;
        let mut depth = 0;
        set(&mut way.nodes, 0, from);
        loop {
            let here = way.nodes.get(depth).copied().unwrap_or(to);
            let next = if depth == steps {
                if here == to {
                    if !matches!(ways, Search::None) {
                        return Search::Many;
                    }
                    ways = Search::One;
                    found.clone_from(&way);
                }
                None
            } else {
                looked_at += 1;
                if looked_at > PATIENCE {
                    return Search::Many;
                }
                let turn = tried.get(depth).copied().unwrap_or(2);
                set(&mut tried, depth, turn + 1);
                self.turn(&way, depth, turn)
            };
            match next {
                Some(next) => {
                    depth += 1;
                    set(&mut way.nodes, depth, next);
                    set(&mut tried, depth, 0);
                }
                // The other way out of this instruction, or back to the one before.
                None if depth < steps && tried.get(depth).is_some_and(|turn| *turn < 2) => {}
                None => match depth.checked_sub(1) {
                    Some(before) => depth = before,
                    None => return ways,
                },
            }
        }
    }

    /// The first (0) or second (1) way out of the instruction at `way.nodes[depth]`.
    fn turn(&self, way: &Way, depth: usize, turn: u8) -> Option<RuntimeAddr> {
        let at = way.nodes.get(depth).copied()?;
        if turn > 1 || !self.stays_in_scope(at) {
            return None;
        }
        let fetched = super::code::peek(self.process, at).ok()?;
        match static_successors(&fetched.instruction) {
            StaticSuccessors::One(only) if turn == 0 => Some(only),
            StaticSuccessors::Two { taken, fall_through } => {
                // The same address both ways is one way.
                let second = if taken == fall_through { None } else { Some(fall_through) };
                if turn == 0 { Some(taken) } else { second }
            }
            // The counter takes all iterations for one instruction.
            StaticSuccessors::Repeats { fall_through, .. } if turn == 0 => Some(fall_through),
            StaticSuccessors::Anywhere if turn == 0 && fetched.class == Class::Return => {
                self.return_target(way, depth)
            }
            _ => None,
        }
    }

    /// Where the `ret` at `way.nodes[depth]` goes: behind the call on the way that it belongs to, or to the open
    /// frame.
    fn return_target(&self, way: &Way, depth: usize) -> Option<RuntimeAddr> {
        let mut unmatched = 0;
        for at in way.nodes.get(..depth)?.iter().rev() {
            let fetched = super::code::peek(self.process, *at).ok()?;
            match fetched.class {
                Class::Return => unmatched += 1,
                Class::Call { .. } if unmatched == 0 => return Some(fetched.fall_through()),
                Class::Call { .. } => unmatched -= 1,
                _ => {}
            }
        }
        let first = self.thread.pending.rows().first()?;
        if first.fetched.class == Class::Return {
            unmatched += 1;
        }
        self.thread.frames.below_top(unmatched).map(|frame| frame.returns_to)
    }
}

fn set<T>(array: &mut [T], index: usize, value: T) {
    if let Some(place) = array.get_mut(index) {
        *place = value;
    }
}
