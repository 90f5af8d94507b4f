//! A counter's overflows: where each had to come, by counting the instructions that retired.
//!
//! The counter counts the handler's first and last instructions, too: the same number each time, so what it counted
//! between two stops less what the loop retired between them is that number, found out and not assumed. What it says
//! beyond the kernel's countdown is how late the interrupt stopped it. Where the loop has retired more than the
//! counter says, the signal came later still; where it has retired less, the counter has over-counted, and that stays.

use super::Histogram;
use super::countdown::{Countdown, loses};
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
    /// Steps in which one more was counted.
    pub surplus: u64,
    /// Occurrences counted that the loop and the handler did not have.
    pub over: i64,
    /// Overflows, those without a signal included.
    pub overflows: u64,
    /// Occurrences between an overflow and its interrupt, at most.
    pub latest: i64,
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

/// How far behind its overflow a stop in the loop is.
#[derive(Clone, Copy, Debug)]
struct Behind {
    retired: u64,
    occurred: i64,
    /// Occurrences from the overflow to the interrupt, by the count.
    late: i64,
    /// Occurrences from the interrupt to the signal.
    slipped: i64,
    /// Counted too many since the stop before: up to as much of `late` may be that.
    grown: i64,
}

/// Judges the stops of one round of the loop that `path` is: nothing behind [`Observation::until_disarmed`].
#[must_use]
pub fn judge(observation: &Observation, path: &Path, setup: Setup) -> Counted {
    let total = setup.iterations * path.length();
    let at = |stop: &Stop| {
        let retired = left(stop.rip, stop.left, path).map(|left| total - left.min(total));
        let occurred = retired.map_or(0, |retired| setup.unit.occurred(retired, path) as i64);
        At { retired, occurred, counted: stop.count as i64 }
    };
    let (disarming, in_loop): (Vec<&Stop>, Vec<&Stop>) =
        observation.stops.iter().partition(|stop| path.is_disarming(stop.rip));
    let stops: Vec<At> = in_loop.into_iter().map(at).collect();
    let inside = |pair: &&[At]| pair.iter().all(|at| at.retired.is_some());
    let steps: Vec<&[At]> = stops.windows(2).filter(inside).collect();
    let between = |pair: &[At], of: fn(&At) -> i64| pair.last().map_or(0, of) - pair.first().map_or(0, of);
    let extra = |pair: &&[At]| between(pair, |at| at.counted) - between(pair, |at| at.occurred);
    let overheads: Histogram = steps.iter().map(extra).collect();
    let overhead = overheads.mode().unwrap_or(0);
    let mut counted = Counted {
        overhead,
        steady: overheads.of(overhead),
        surplus: overheads.of(overhead + 1),
        steps: steps.len() as u64,
        ..Counted::default()
    };
    counted.locate(&stops, path, setup);
    // What comes behind the loop is an overflow, too, but at no instruction of it.
    match disarming.len() as u64 {
        0 => counted.overflows += setup.unsignalled(&stops, counted.head(&stops, setup), observation.count),
        signalled => counted.overflows += signalled,
    }
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
    /// Whether interrupts come so late that the next overflow, or one in the handler, cannot be told from them.
    #[must_use]
    pub const fn reaches(&self, period: u64) -> bool {
        self.latest * 2 >= period as i64
    }

    /// Occurrences of the handler's up to where it stops the counter: seen once, at the first stop. What was counted too
    /// much by then is no handler's: the first signal is that of an overflow.
    fn head(&self, stops: &[At], setup: Setup) -> i64 {
        match (setup.stopped, stops.first()) {
            (Stopped::ByHandler, Some(first)) => {
                (first.counted - first.occurred).min((first.counted - setup.period as i64).max(0))
            }
            _ => 0,
        }
    }

    /// Finds how far behind its overflow each stop is.
    fn locate(&mut self, stops: &[At], path: &Path, setup: Setup) {
        let head = self.head(stops, setup);
        let lates = self.follow(stops, head, setup);
        let (mut over, mut found) = (0, Vec::new());
        for ((n, at), late) in (0i64..).zip(stops).zip(lates) {
            self.place.signals += 1;
            let Some(retired) = at.retired else {
                self.place.outside += 1;
                continue;
            };
            let beyond = at.counted - at.occurred - n * self.overhead - head;
            let grown = (beyond - over).max(0);
            over = over.max(beyond);
            found.push(Behind { retired, occurred: at.occurred, late, slipped: over - beyond, grown });
        }
        self.over = over;
        let skid = |stop: &Behind, late| {
            stop.retired as i64 - setup.unit.behind(stop.occurred - late - stop.slipped, path)
        };
        // Where nothing was counted too much, the count alone says how late an interrupt was. Where something was, it
        // may have been on the way from the overflow to the interrupt or not: what the others say is the likelier.
        let certain: Histogram =
            found.iter().filter(|stop| stop.grown == 0).map(|stop| skid(stop, stop.late)).collect();
        for stop in &found {
            let on_time = (stop.late - stop.grown).max(0);
            let least = match (stop.grown, on_time) {
                (0, _) => skid(stop, stop.late),
                // It may be what overflowed, at whatever instruction it came.
                (_, 0) => 0,
                _ => skid(stop, on_time),
            };
            let most = skid(stop, stop.late);
            let likeliest = (least..=most).max_by_key(|skid| certain.of(*skid)).unwrap_or(most);
            self.latest = self.latest.max(if stop.grown == 0 { stop.late } else { on_time });
            self.place.at_expected += u64::from(likeliest == 0);
            self.place.skid.add(likeliest);
        }
    }

    /// Follows the kernel's countdown: how late each interrupt was, and how many overflows there were for them.
    fn follow(&mut self, stops: &[At], head: i64, setup: Setup) -> Vec<i64> {
        let mut countdown = setup.countdown(stops, head);
        let mut before = 0;
        let mut lates = Vec::with_capacity(stops.len());
        for at in stops {
            let passed = countdown.interrupted(at.counted - head - before);
            countdown.counted(head);
            before = at.counted;
            self.overflows += passed.overflows;
            lates.push(passed.late);
        }
        lates
    }
}

impl Setup {
    fn countdown(&self, stops: &[At], head: i64) -> Countdown {
        let interrupts: Vec<i64> = stops.iter().map(|at| at.counted - head).collect();
        let period = self.period as i64;
        // The limit ends what a lost signal does not arm again: only a free-running counter goes on without it.
        Countdown::new(period, self.stopped == Stopped::ByHandler && loses(&interrupts, period))
    }

    /// Overflows behind the last stop, when the counter said `count` in the end.
    fn unsignalled(&self, stops: &[At], head: i64, count: u64) -> u64 {
        let mut countdown = self.countdown(stops, head);
        let mut before = 0;
        for at in stops {
            countdown.interrupted(at.counted - head - before);
            countdown.counted(head);
            before = at.counted;
        }
        let overflows = countdown.overflows_in(count as i64 - before);
        match self.stopped {
            Stopped::ByLimit => overflows.min(1),
            Stopped::ByHandler => overflows,
        }
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
        // The one too many is what made the counter overflow: it stands one beyond, at the instruction expected.
        let at_overflow = judged(&model(200, |n| u64::from(n % 50 == 0), NONE, |n| n / 50));
        assert_eq!((at_overflow.over, at_overflow.place.at_expected), (4, 200), "{at_overflow:?}");
    }

    /// The stops of a counter whose interrupt always comes `late`, as the kernel's countdown has it; a signal in `lose` is
    /// lost.
    fn of_countdown(stops: u64, late: i64, stopped: Stopped, lose: Option<u64>) -> Counted {
        let workload = class::nop();
        let path = Path::of(&workload);
        let setup = Setup { period: 61, stopped, ..SETUP };
        let (head, tail) = if stopped == Stopped::ByHandler { (9, 2) } else { (0, 2) };
        let (mut left, mut count, mut retired) = (61i64, 0i64, 0i64);
        let mut seen = Vec::new();
        for n in 1..=stops {
            let passed = left.max(2) + late;
            count += passed;
            retired += passed;
            left = match left - passed {
                left if left <= -61 => 61,
                left => left + 61,
            };
            if lose.is_some_and(|every| n % every == 0) {
                continue;
            }
            count += head;
            left -= head;
            let (pass, place) = (retired as u64 / path.length(), retired as u64 % path.length());
            let offset = if place == path.length() - 1 { place + 2 } else { place };
            let left_of_loop = SETUP.iterations - pass - u64::from(place == path.length() - 1);
            let rip = workload.subject.plus(offset).plus(u64::MAX);
            seen.push(Stop { rip, left: left_of_loop, count: count as u64, ..Stop::default() });
            // What the handler counts behind its re-arming is no instruction of the loop.
            count += tail;
            left -= tail;
        }
        let end = seen.last().map_or(0, |stop: &Stop| stop.count);
        judge(&Observation { stops: seen, count: end, ..Observation::default() }, &path, setup)
    }

    #[test]
    fn a_skid_longer_than_the_period_is_recovered() {
        for stopped in [Stopped::ByLimit, Stopped::ByHandler] {
            for late in [0, 3, 30, 45, 61, 62, 70, 130, 400] {
                let counted = of_countdown(50, late, stopped, None);
                assert_eq!(counted.place.skid.of(late), 50, "{late} {stopped:?} {counted:?}");
                assert_eq!((counted.overflows, counted.latest), (50, late), "{stopped:?}");
                assert_eq!(counted.reaches(61), late > 30, "{late}");
            }
        }
    }

    #[test]
    fn what_was_counted_too_much_before_the_first_signal_is_no_handlers() {
        let workload = class::nop();
        let path = Path::of(&workload);
        let setup = Setup { period: 61, stopped: Stopped::ByHandler, ..SETUP };
        // Four counted too many before each overflow, and one instruction of the handler's.
        let stop = |n: u64| {
            let retired = n * 57;
            let (pass, place) = (retired / path.length(), retired % path.length());
            let last = u64::from(place == path.length() - 1);
            let rip = workload.subject.plus(place + 2 * last).plus(u64::MAX);
            Stop { rip, left: SETUP.iterations - pass - last, count: n * 62, ..Stop::default() }
        };
        let stops: Vec<Stop> = (1..=2).map(stop).collect();
        let counted = judge(&Observation { stops, count: 124, ..Observation::default() }, &path, setup);
        assert_eq!((counted.overflows, counted.place.signals), (2, 2), "{counted:?}");
        assert!(counted.place.skid.min() >= Some(0), "no signal is before its overflow: {counted:?}");
    }

    #[test]
    fn lost_signals_are_no_skid() {
        let counted = of_countdown(50, 3, Stopped::ByHandler, Some(5));
        assert_eq!((counted.place.signals, counted.place.skid.of(3)), (40, 40), "{counted:?}");
        // The last one's loss is behind the last stop, where this observation ends.
        assert_eq!(counted.overflows, 49);
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
