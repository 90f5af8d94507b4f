//! The ways that code allows from one instruction to another, in signal context.

use super::code::{Fetched, peek};
use super::stepper::{Stepper, pushed_by};
use crate::address::RuntimeAddr;
use crate::image::class::Class;
use crate::image::static_successor::{StaticSuccessors, static_successors};
use crate::image::successor::{Successor, successor};
use crate::registers::{RSP, Registers};

/// Longest way that is looked for, in instructions.
pub(super) const LONGEST: usize = 60;
/// Instructions looked at in one search.
const PATIENCE: u32 = 2048;

/// A way from one instruction to another: `nodes[0..=steps]`.
#[derive(Clone)]
pub(super) struct Way {
    nodes: [RuntimeAddr; LONGEST + 1],
    steps: usize,
}

/// How long a way is.
#[derive(Clone, Copy)]
pub(super) enum Length {
    Instructions(usize),
    /// As many branches are on it, its end not included.
    Branches(u64),
    Any,
}

/// How many ways there are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Search {
    None,
    One,
    /// Or more instructions than are looked at, or one that may have led anywhere.
    Many,
}

/// Where one of an instruction's ways out leads.
enum Turn {
    To(RuntimeAddr),
    /// There is no such way, or it is not one that is looked for.
    Nowhere,
    /// Registers or memory had the target, and they have changed since.
    Anywhere,
}

/// What becomes of the way at an instruction.
enum Here {
    /// It is a way; it may go on to be another one.
    End,
    /// It is a way, and nothing beyond it is.
    LastEnd,
    GoesOn,
    /// No way leads on from here.
    Dead,
    TooLong,
}

impl Way {
    pub(super) const fn new() -> Self {
        Self { nodes: [RuntimeAddr(0); LONGEST + 1], steps: 0 }
    }

    /// The instructions before its end, and each one's successor.
    pub(super) fn steps(
        &self,
    ) -> impl DoubleEndedIterator<Item = (RuntimeAddr, RuntimeAddr)> + ExactSizeIterator {
        let nodes = self.nodes.get(..=self.steps).unwrap_or(&[]);
        nodes.iter().copied().zip(nodes.iter().skip(1).copied())
    }

    pub(super) fn count(&self) -> u64 {
        self.steps as u64
    }
}

/// Whether a PMU counts it as a branch: what PERF_COUNT_HW_BRANCH_INSTRUCTIONS is on Intel (0xc4) and AMD (0xc2).
pub(super) fn is_branch(class: Class) -> bool {
    matches!(class, Class::Conditional | Class::Jump { .. } | Class::Call { .. } | Class::Return | Class::Far)
}

impl Stepper<'_> {
    /// Looks for ways of this length from `from` to `to`; `found` becomes the first. One that leaves the scope is a way, but
    /// none whose rows could be written.
    ///
    /// # Signal safety
    /// Decodes at most [`PATIENCE`] instructions.
    pub(super) fn search(
        &self,
        from: RuntimeAddr,
        length: Length,
        to: RuntimeAddr,
        found: &mut Way,
    ) -> Search {
        let mut way = Way::new();
        let mut tried = [0_u8; LONGEST + 1];
        // Branches before each node.
        let mut branches = [0_u64; LONGEST + 1];
        let mut ways = Search::None;
        let mut looked_at = 0;
        let mut depth = 0;
        let now = self.saved.registers(false);
        set(&mut way.nodes, 0, from);
        loop {
            let here = way.nodes.get(depth).copied().unwrap_or(to);
            let passed = branches.get(depth).copied().unwrap_or(0);
            let turn = tried.get(depth).copied().unwrap_or(2);
            let judged = if turn == 0 { judge(here, to, depth, passed, length) } else { Here::GoesOn };
            if matches!(judged, Here::End | Here::LastEnd) {
                let leaves = way
                    .nodes
                    .get(..depth)
                    .is_some_and(|nodes| !nodes.iter().all(|at| self.stays_in_scope(*at)));
                if ways != Search::None || leaves {
                    return Search::Many;
                }
                ways = Search::One;
                way.steps = depth;
                found.clone_from(&way);
            }
            let next = match judged {
                Here::TooLong => return Search::Many,
                Here::LastEnd | Here::Dead => {
                    set(&mut tried, depth, 2);
                    None
                }
                Here::End | Here::GoesOn => {
                    looked_at += 1;
                    if looked_at > PATIENCE {
                        return Search::Many;
                    }
                    set(&mut tried, depth, turn + 1);
                    let is_last = matches!(length, Length::Instructions(steps) if depth + 1 == steps);
                    match self.turn(&way, depth, turn, is_last.then_some(&now)) {
                        (Turn::To(next), is_branch) => Some((next, is_branch)),
                        (Turn::Nowhere, _) => None,
                        (Turn::Anywhere, _) => return Search::Many,
                    }
                }
            };
            match next {
                Some((next, is_branch)) => {
                    depth += 1;
                    set(&mut way.nodes, depth, next);
                    set(&mut tried, depth, 0);
                    set(&mut branches, depth, passed + u64::from(is_branch));
                }
                // The other way out of this instruction, or back to the one before.
                None if tried.get(depth).is_some_and(|turn| *turn < 2) => {}
                None => match depth.checked_sub(1) {
                    Some(before) => depth = before,
                    None => return ways,
                },
            }
        }
    }

    /// The first (0) or second (1) way out of the instruction at `way.nodes[depth]`, and whether it is a branch. Of the last
    /// instruction on the way, the registers are those of `now`.
    fn turn(&self, way: &Way, depth: usize, turn: u8, now: Option<&Registers>) -> (Turn, bool) {
        let at = way.nodes.get(depth).copied().unwrap_or_default();
        // Nothing passes the return guard unseen.
        if turn > 1 || self.thread.guard.at() == Some(at) {
            return (Turn::Nowhere, false);
        }
        let Ok(fetched) = peek(self.process, at) else { return (Turn::Nowhere, false) };
        let to = match static_successors(&fetched.instruction) {
            StaticSuccessors::One(only) if turn == 0 => Turn::To(only),
            StaticSuccessors::Two { taken, .. } if turn == 0 => Turn::To(taken),
            // The same address both ways is one way.
            StaticSuccessors::Two { taken, fall_through } if taken != fall_through => Turn::To(fall_through),
            // The counter takes all iterations for one instruction.
            StaticSuccessors::Repeats { fall_through, .. } if turn == 0 => Turn::To(fall_through),
            StaticSuccessors::Anywhere if turn == 0 => self.open_target(&fetched, way, depth, now),
            _ => Turn::Nowhere,
        };
        (to, is_branch(fetched.class))
    }

    /// Where the instruction at `way.nodes[depth]`, whose bytes do not say it, has led.
    fn open_target(&self, fetched: &Fetched, way: &Way, depth: usize, now: Option<&Registers>) -> Turn {
        if fetched.class == Class::Return {
            // Without a frame it leaves the call, which the return guard sees.
            return self.return_target(way, depth).map_or(Turn::Nowhere, Turn::To);
        }
        let Some(now) = now else { return Turn::Anywhere };
        // A jump changes no register, and a call RSP alone.
        let mut before = *now;
        before.general[RSP] = now.general[RSP].wrapping_add(pushed_by(fetched).unwrap_or(0));
        match successor(&fetched.instruction, &before, &self.process.memory()) {
            Successor::One(target) => Turn::To(target),
            _ => Turn::Nowhere,
        }
    }

    /// Where the `ret` at `way.nodes[depth]` goes: behind the call on the way that it belongs to, or to the open
    /// frame.
    fn return_target(&self, way: &Way, depth: usize) -> Option<RuntimeAddr> {
        let mut unmatched = 0;
        for at in way.nodes.get(..depth)?.iter().rev() {
            let fetched: Fetched = peek(self.process, *at).ok()?;
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

/// What `here` is on a way to `to`, `depth` instructions and `passed` branches after its beginning.
fn judge(here: RuntimeAddr, to: RuntimeAddr, depth: usize, passed: u64, length: Length) -> Here {
    match length {
        Length::Instructions(steps) if depth < steps => Here::GoesOn,
        Length::Instructions(_) => {
            if here == to {
                Here::LastEnd
            } else {
                Here::Dead
            }
        }
        Length::Branches(most) if passed > most => Here::Dead,
        // Without another branch there is no way back to an address.
        Length::Branches(most) if passed == most && here == to => Here::LastEnd,
        Length::Branches(most) if passed == most && here > to => Here::Dead,
        _ if depth >= LONGEST => Here::TooLong,
        Length::Any if here == to => Here::End,
        Length::Branches(_) | Length::Any => Here::GoesOn,
    }
}

fn set<T>(array: &mut [T], index: usize, value: T) {
    if let Some(place) = array.get_mut(index) {
        *place = value;
    }
}
