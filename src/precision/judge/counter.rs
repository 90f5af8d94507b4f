//! A counter's overflows: where each had to come, by counting the instructions that retired.
//!
//! The counter counts the handler's first and last instructions, too: the same number each time, so what it counted
//! between two stops less what the loop retired between them is that number, found out and not assumed. With it, the
//! saved RIP says how many occurrences there had been at the stop, and what is left of that over a whole number of
//! periods is the skid.

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
}

/// What the stops of one run say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Occurrences in the handler that are counted at each stop.
    pub overhead: i64,
    /// Of how many steps that number was the same.
    pub steady: u64,
    pub steps: u64,
    pub place: Place,
}

/// Judges the stops of one round of the loop that `path` is.
#[must_use]
pub fn judge(observation: &Observation, path: &Path, setup: Setup) -> Counted {
    let total = setup.iterations * path.length();
    // Instructions of the loop that had retired at each stop, and what the counter said there.
    let retired = |stop: &Stop| left(stop.rip, stop.left, path).map(|left| total - left.min(total));
    let stops: Vec<(Option<u64>, u64)> =
        observation.stops.iter().map(|stop| (retired(stop), stop.count)).collect();
    let steps = stops.windows(2).filter_map(|pair| match pair {
        [(Some(from), before), (Some(to), after)] => {
            let occurred = setup.unit.occurred(*to, path).checked_sub(setup.unit.occurred(*from, path))?;
            Some((to.checked_sub(*from)? as i64, occurred as i64, after.checked_sub(*before)? as i64))
        }
        _ => None,
    });
    let steps: Vec<(i64, i64, i64)> = steps.collect();
    let overheads: Histogram = steps.iter().map(|(_, occurred, counted)| counted - occurred).collect();
    let overhead = overheads.mode().unwrap_or(0);
    let period = setup.period as i64;
    let mut place = Place::default();
    for (n, (retired, _)) in (0i64..).zip(&stops) {
        place.signals += 1;
        let Some(retired) = *retired else {
            place.outside += 1;
            continue;
        };
        let occurred = setup.unit.occurred(retired, path) as i64;
        let beyond = (occurred + n * overhead).rem_euclid(period);
        let overflowed = setup.unit.behind(occurred - beyond, path);
        let skid = retired as i64 - overflowed;
        place.at_expected += u64::from(skid == 0);
        place.skid.add(skid);
    }
    for (retired, occurred, _) in &steps {
        match *retired {
            0 => place.zero_steps += 1,
            _ if *occurred == period - overhead => place.single_steps += 1,
            _ => place.multi_steps += 1,
        }
    }
    Counted { overhead, steady: overheads.of(overhead), steps: steps.len() as u64, place }
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
    const SETUP: Setup = Setup { unit: Unit::Instructions, iterations: 100_000, period: 1_009 };

    /// A counter that overflows every period, with `skid` instructions until its signal.
    fn model(stops: u64, mut skid: impl FnMut(u64) -> u64) -> Observation {
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
            let slip = skid(n);
            let counted = n * SETUP.period + slip;
            let (rip, left) = at(counted - (n - 1) * OVERHEAD);
            Stop { rip, left, count: counted, ..Stop::default() }
        });
        Observation { stops: stops.collect(), ..Observation::default() }
    }

    #[test]
    fn the_handlers_share_is_found_and_taken_off() {
        let counted = judge(&model(200, |_| 0), &Path::of(&class::nop()), SETUP);
        assert_eq!((counted.overhead, counted.steady, counted.steps), (OVERHEAD as i64, 199, 199));
        assert_eq!((counted.place.at_expected, counted.place.single_steps), (200, 199));
    }

    #[test]
    fn an_injected_skid_is_recovered() {
        let fixed = judge(&model(200, |_| 3), &Path::of(&class::nop()), SETUP);
        assert_eq!((fixed.place.at_expected, fixed.place.skid.of(3)), (0, 200));
        // Uniform over 0 to 4, by a generator that is none of the judge's.
        let mut state = 1u64;
        let uniform = model(1_000, |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % 5
        });
        let place = judge(&uniform, &Path::of(&class::nop()), SETUP).place;
        let seen: Vec<_> = (0..5).map(|skid| place.skid.of(skid)).collect();
        assert_eq!(seen.iter().sum::<u64>(), 1_000);
        assert!(chi_squared(&seen, &[200.0; 5]).unwrap() > 0.001, "{seen:?}");
        let skewed = [400.0, 200.0, 200.0, 100.0, 100.0];
        assert!(chi_squared(&seen, &skewed).unwrap() < 0.001, "{seen:?}");
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
