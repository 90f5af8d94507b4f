//! A counter's overflows: where each had to come, by counting the instructions that retired.
//!
//! The counter counts the handler's first and last instructions, too: the same number each time, so what it counted
//! between two stops less what the loop retired between them is that number, found out and not assumed. With it, the
//! saved RIP says how many occurrences there had been at the stop, and what is left of that over a whole number of
//! periods is the skid.

use super::Histogram;
use super::place::{Place, left};
use crate::precision::measure::Observation;
use crate::precision::workload::Path;

/// How a run was set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    pub iterations: u64,
    pub period: u64,
}

/// What the stops of one run say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Instructions of the handler that are counted at each stop.
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
    let stops: Vec<(Option<u64>, u64)> = observation
        .stops
        .iter()
        .map(|stop| (left(stop.rip, stop.left, path).map(|left| total - left.min(total)), stop.count))
        .collect();
    let steps = stops.windows(2).filter_map(|pair| match pair {
        [(Some(from), counted), (Some(to), counts)] => {
            Some((to.checked_sub(*from)? as i64, counts.checked_sub(*counted)? as i64))
        }
        _ => None,
    });
    let steps: Vec<(i64, i64)> = steps.collect();
    let overheads: Histogram = steps.iter().map(|(retired, counted)| counted - retired).collect();
    let overhead = overheads.mode().unwrap_or(0);
    let mut place = Place::default();
    for (n, (retired, _)) in (0i64..).zip(&stops) {
        place.signals += 1;
        let Some(retired) = retired else {
            place.outside += 1;
            continue;
        };
        let occurred = *retired as i64 + n * overhead;
        let skid = occurred.rem_euclid(setup.period as i64);
        place.at_expected += u64::from(skid == 0);
        place.skid.add(skid);
    }
    let wanted = setup.period as i64 - overhead;
    for (retired, _) in &steps {
        match *retired {
            0 => place.zero_steps += 1,
            retired if retired == wanted => place.single_steps += 1,
            _ => place.multi_steps += 1,
        }
    }
    Counted { overhead, steady: overheads.of(overhead), steps: steps.len() as u64, place }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::precision::judge::statistics::chi_squared;
    use crate::precision::measure::Stop;
    use crate::precision::workload::class;

    const OVERHEAD: u64 = 14;
    const SETUP: Setup = Setup { iterations: 100_000, period: 1_009 };

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
}
