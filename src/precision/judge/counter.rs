//! A counter's overflows: where each had to come, by counting the instructions that retired.
//!
//! The counter counts the handler's first and last instructions, too: the same number each time, so what it counted
//! between two stops less what the loop retired between them is that number, found out and not assumed. What it says
//! beyond a whole number of periods is how late the interrupt stopped it. Where the loop has retired more than the
//! counter says, the signal came later still; where it has retired less, the counter has over-counted, and that stays.

use super::Histogram;
use super::place::{Place, left};
use crate::precision::measure::{Observation, Stop};
use crate::precision::workload::Path;

/// What a counter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Instructions,
    Branches,
}

/// How a run was set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    pub unit: Unit,
    pub iterations: u64,
    pub period: u64,
    pub stopped: Stopped,
}

/// What stops the counter at an overflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The limit of one overflow, in the interrupt.
    ByLimit,
    /// The handler's first instructions, which are counted.
    ByHandler,
}

/// What the stops of one run say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Occurrences in the handler that are counted at each stop.
    pub overhead: i64,
    /// Of how many steps that number was the same.
    pub steady: u64,
    pub steps: u64,
    /// Occurrences counted that the loop and the handler did not have.
    pub over: i64,
    pub place: Place,
}

/// A stop in the counter's terms.
#[derive(Clone, Copy, Debug)]
struct At {
    /// Instructions of the loop that have retired; `None` outside of it.
    retired: Option<u64>,
    /// Occurrences among them.
    occurred: i64,
    counted: i64,
}

/// Judges the stops of one round of the loop that `path` is.
#[must_use]
pub fn judge(observation: &Observation, path: &Path, setup: Setup) -> Counted {
    let total = setup.iterations * path.length();
    let at = |stop: &Stop| {
        let retired = left(stop.rip, stop.left, path).map(|left| total - left.min(total));
        let occurred = retired.map_or(0, |retired| setup.unit.occurred(retired, path) as i64);
        At { retired, occurred, counted: stop.count as i64 }
    };
    let in_loop = observation.stops.iter().filter(|stop| !path.is_disarming(stop.rip));
    let stops: Vec<At> = in_loop.map(at).collect();
    let inside = |pair: &&[At]| pair.iter().all(|at| at.retired.is_some());
    let steps: Vec<&[At]> = stops.windows(2).filter(inside).collect();
    let between = |pair: &[At], of: fn(&At) -> i64| pair.last().map_or(0, of) - pair.first().map_or(0, of);
    let extra = |pair: &&[At]| between(pair, |at| at.counted) - between(pair, |at| at.occurred);
    let overheads: Histogram = steps.iter().map(extra).collect();
    let overhead = overheads.mode().unwrap_or(0);
    let mut counted =
        Counted { overhead, steady: overheads.of(overhead), steps: steps.len() as u64, ..Counted::default() };
    counted.locate(&stops, path, setup);
    for pair in &steps {
        let place = &mut counted.place;
        match between(pair, |at| at.occurred) {
            0 => place.zero_steps += 1,
            occurred if occurred == setup.period as i64 - overhead => place.single_steps += 1,
            _ => place.multi_steps += 1,
        }
    }
    counted
}

impl Counted {
    /// Finds how far behind its overflow each stop is.
    fn locate(&mut self, stops: &[At], path: &Path, setup: Setup) {
        let behind = |n: i64, at: &At| at.counted - at.occurred - n * self.overhead;
        // What of a stopped-by-handler's count is the handler's own: seen once, at the first stop.
        let head = match (setup.stopped, stops.first()) {
            (Stopped::ByHandler, Some(first)) => behind(0, first),
            _ => 0,
        };
        let mut over = 0;
        for (n, at) in (0i64..).zip(stops) {
            self.place.signals += 1;
            let Some(retired) = at.retired else {
                self.place.outside += 1;
                continue;
            };
            over = over.max(behind(n, at) - head);
            let late = (at.counted - head).rem_euclid(setup.period as i64);
            let slipped = over - (behind(n, at) - head);
            let overflowed = setup.unit.behind(at.occurred - late - slipped, path);
            let skid = retired as i64 - overflowed;
            self.place.at_expected += u64::from(skid == 0);
            self.place.skid.add(skid);
        }
        self.over = over;
    }
}

impl Unit {
    /// Occurrences in one iteration.
    #[must_use]
    pub fn per_iteration(self, path: &Path) -> u64 {
        match self {
            Self::Instructions => path.length(),
            Self::Branches => path.branches().len() as u64,
        }
    }

    /// Occurrences among the first `retired` instructions.
    fn occurred(self, retired: u64, path: &Path) -> u64 {
        match self {
            Self::Instructions => retired,
            Self::Branches => {
                let (iterations, rest) = (retired / path.length(), retired % path.length());
                let of_rest = path.branches().iter().filter(|place| **place < rest).count() as u64;
                iterations * self.per_iteration(path) + of_rest
            }
        }
    }

    /// The instructions that have retired when the occurrence numbered `n`, from 1, just has.
    fn behind(self, n: i64, path: &Path) -> i64 {
        match (self, path.branches()) {
            (Self::Instructions, _) | (Self::Branches, []) => n,
            (Self::Branches, branches) => {
                let (before, each) = (n - 1, branches.len() as i64);
                let place = branches.get(before.rem_euclid(each) as usize).copied().unwrap_or(0);
                before.div_euclid(each) * path.length() as i64 + place as i64 + 1
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::precision::judge::statistics::chi_squared;
    use crate::precision::workload::class;

    const OVERHEAD: u64 = 14;
    const SETUP: Setup =
        Setup { unit: Unit::Instructions, iterations: 1_000_000, period: 1_009, stopped: Stopped::ByLimit };

    /// A counter that overflows every period: `late` counts until its interrupt stops it, `slip` further instructions
    /// until the signal, and `over` counts too many by each stop.
    fn model(
        stops: u64,
        mut late: impl FnMut(u64) -> u64,
        slip: fn(u64) -> u64,
        over: fn(u64) -> u64,
    ) -> Observation {
        let workload = class::nop();
        let path = Path::of(&workload);
        let at = |retired: u64| {
            let (pass, place) = (retired / path.length(), retired % path.length());
            // Of this loop every instruction has one byte but the last two, of three and two.
            let last = place == path.length() - 1;
            let offset = if last { place + 2 } else { place };
            let counter = SETUP.iterations - pass - u64::from(last);
            (workload.subject.plus(offset).plus(u64::MAX), counter)
        };
        let stops = (1..=stops).map(|n| {
            let counted = n * SETUP.period + late(n);
            let (rip, left) = at(counted - over(n) - (n - 1) * OVERHEAD + slip(n));
            Stop { rip, left, count: counted, ..Stop::default() }
        });
        Observation { stops: stops.collect(), ..Observation::default() }
    }

    fn judged(observation: &Observation) -> Counted {
        judge(observation, &Path::of(&class::nop()), SETUP)
    }

    const NONE: fn(u64) -> u64 = |_| 0;

    #[test]
    fn the_handlers_share_is_found_and_taken_off() {
        let counted = judged(&model(200, NONE, NONE, NONE));
        assert_eq!((counted.overhead, counted.steady, counted.steps), (OVERHEAD as i64, 199, 199));
        assert_eq!((counted.place.at_expected, counted.place.single_steps), (200, 199));
    }

    #[test]
    fn an_injected_skid_is_recovered() {
        let fixed = judged(&model(200, |_| 3, NONE, NONE));
        assert_eq!((fixed.place.at_expected, fixed.place.skid.of(3)), (0, 200));
        // Uniform over 0 to 4, by a generator that is none of the judge's.
        let mut state = 1u64;
        let late = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % 5
        };
        let uniform = model(1_000, late, NONE, NONE);
        let place = judged(&uniform).place;
        let seen: Vec<_> = (0..5).map(|skid| place.skid.of(skid)).collect();
        assert_eq!(seen.iter().sum::<u64>(), 1_000);
        assert!(chi_squared(&seen, &[200.0; 5]).unwrap() > 0.001, "{seen:?}");
        let skewed = [400.0, 200.0, 200.0, 100.0, 100.0];
        assert!(chi_squared(&seen, &skewed).unwrap() < 0.001, "{seen:?}");
    }

    #[test]
    fn a_signal_later_than_its_interrupt_is_seen() {
        // The counter is stopped in time; one signal in ten comes two instructions later.
        let place = judged(&model(200, NONE, |n| if n % 10 == 0 { 2 } else { 0 }, NONE)).place;
        assert_eq!((place.at_expected, place.skid.of(2)), (180, 20));
    }

    #[test]
    fn counting_too_much_is_no_skid() {
        let counted = judged(&model(200, NONE, NONE, |n| n / 50));
        assert_eq!((counted.over, counted.place.at_expected), (4, 200));
    }

    #[test]
    fn one_signal_in_a_thousand_late_is_not_synchronous() {
        let place = judged(&model(1_000, |n| u64::from(n == 500), NONE, NONE)).place;
        assert_eq!((place.elsewhere(), place.skid.of(1)), (1, 1));
    }

    #[test]
    fn a_branch_is_behind_the_instruction_that_it_is() {
        let path = Path::of(&class::call());
        // nop, call, ret, jmp, nop, dec, jnz.
        let unit = Unit::Branches;
        assert_eq!((unit.occurred(0, &path), unit.occurred(2, &path), unit.occurred(8, &path)), (0, 1, 4));
        assert_eq!((unit.behind(1, &path), unit.behind(4, &path), unit.behind(5, &path)), (2, 7, 9));
        assert_eq!(unit.behind(0, &path), 0);
        for n in 1..20 {
            assert_eq!(unit.occurred(unit.behind(n, &path) as u64, &path), n as u64);
        }
    }
}
