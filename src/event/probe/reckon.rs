//! From stops to the handler's tail.
//!
//! The tail is what the counter had at the stop less the instructions that ran (design, "The handler tail"). Interrupts and
//! page faults add to a count, and nothing takes away from one: so the least that was seen on a short way is the tail, and
//! what longer ways have beyond it was counted too much.

/// One overflow.
#[derive(Clone, Copy, Debug)]
pub struct Stop {
    /// Since the counter was armed.
    pub counted: u64,
    /// Instructions of the sled that had run.
    pub ran: u64,
    /// Which beginning of the sled it belongs to.
    pub round: u32,
}

/// What the counter has when no instruction has run, and how much in a million it counts too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    pub tail: u64,
    pub overcount: u64,
}

const MILLION: u64 = 1_000_000;

/// Of an event that counts each instruction of the sled once, from short, near and far stops; `None` without stops.
#[must_use]
pub fn one_a_count(short: &[Stop], near: &[Stop], far: &[Stop]) -> Option<Line> {
    let shortest = if short.iter().any(|stop| excess(stop).is_some()) { short } else { near };
    let tail = about(shortest, near, far)?;
    let all = || [short, near, far].into_iter().flatten();
    let beyond: u64 = all().filter_map(|stop| excess(stop)?.checked_sub(tail)).sum();
    let ran: u64 = all().filter(|stop| excess(stop).is_some()).map(|stop| stop.ran).sum();
    Some(Line { tail, overcount: beyond.saturating_mul(MILLION).checked_div(ran).unwrap_or(0) })
}

/// Periods of a few more counts than the tail may have, and of a few fewer: on ways so short little is counted too much, and
/// on some nothing.
#[must_use]
pub fn short_periods(near: &[Stop], far: &[Stop], smallest: u64) -> Vec<u64> {
    const FEWER: u64 = 2;
    const MORE: u64 = 4;
    let about = about(near, near, far).unwrap_or(0);
    let mut periods: Vec<_> =
        (about.saturating_sub(FEWER)..=about + MORE).map(|period| period.max(smallest)).collect();
    periods.dedup();
    periods
}

/// The shortest tail that a stop speaks for: with what is counted too much on the whole way, it makes up what the counter had
/// beyond the instructions that ran.
fn about(stops: &[Stop], near: &[Stop], far: &[Stop]) -> Option<u64> {
    let too_many = |retired: u64| match (mean(near), mean(far)) {
        (Some(near), Some(far)) if far.1 > near.1 => {
            far.0.saturating_sub(near.0).saturating_mul(retired) / (far.1 - near.1)
        }
        _ => 0,
    };
    let tail = |stop: &Stop| {
        let excess = excess(stop)?;
        (0..=excess).rev().find(|tail| tail + too_many(stop.ran + tail) <= excess)
    };
    stops.iter().filter_map(tail).min()
}

/// What it had beyond them, where all of the tail ran, and it counted all the time.
fn excess(stop: &Stop) -> Option<u64> {
    if stop.ran == 0 { None } else { stop.counted.checked_sub(stop.ran) }
}

/// What all stops together had beyond the instructions that ran, and those: both in millionths of a stop.
fn mean(stops: &[Stop]) -> Option<(u64, u64)> {
    let counted: Vec<_> = stops.iter().filter_map(|stop| Some((excess(stop)?, stop.ran))).collect();
    let of = counted.len() as u64;
    let mean = |sum: u64| (sum * MILLION).checked_div(of);
    Some((mean(counted.iter().map(|it| it.0).sum())?, mean(counted.iter().map(|it| it.1).sum())?))
}

/// Of an event of another unit: the straight line through the middle of the near stops and of the far ones.
#[must_use]
pub fn line(near: &[Stop], far: &[Stop]) -> Option<Line> {
    let (near, far) = (middle(near)?, middle(far)?);
    let (ran, counted) = (far.ran.checked_sub(near.ran)?, far.counted.checked_sub(near.counted)?);
    let of_the_way = (near.ran * counted).checked_div(ran)?;
    Some(Line { tail: near.counted.saturating_sub(of_the_way), overcount: 0 })
}

/// The stop with the middle count.
fn middle(stops: &[Stop]) -> Option<Stop> {
    let mut stops = stops.to_vec();
    stops.sort_by_key(|stop| stop.counted);
    stops.get(stops.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stops(all: &[(u64, u64)]) -> Vec<Stop> {
        all.iter().map(|&(counted, ran)| Stop { counted, ran, round: 0 }).collect()
    }

    /// What a counter with this tail has on ways of `period` counts, if it counts one too many in `every`.
    fn overcounting(tail: u64, period: u64, every: u64, rounds: u64) -> Vec<Stop> {
        let (mut phase, mut stops) = (0, Vec::new());
        for round in 0..rounds {
            let (mut counted, mut retired) = (0_u64, 0_u64);
            while counted < period {
                (retired, phase) = (retired + 1, phase + 1);
                counted += 1 + u64::from(phase % every == 0);
            }
            stops.push(Stop { counted, ran: retired.saturating_sub(tail), round: round as u32 });
        }
        stops
    }

    #[test]
    fn a_tail_is_told_from_what_is_counted_too_much() {
        let near = stops(&[(1002, 1000), (1002, 1000), (1009, 1007)]);
        let far = stops(&[(2002, 2000)]);
        let exact = one_a_count(&stops(&[(4, 2), (4, 2)]), &near, &far).unwrap();
        assert_eq!((exact.tail, exact.overcount), (2, 0));
        assert_eq!(one_a_count(&[], &near, &far).unwrap(), exact);
        assert!(one_a_count(&[], &[], &[]).is_none());
        // A stop before the tail was over, and one of a counter that was away for a while, say nothing.
        let odd = stops(&[(1, 0), (4, 2), (900, 1000)]);
        assert_eq!(one_a_count(&odd, &near, &far).unwrap(), exact);
        // One interrupt.
        let once = one_a_count(&stops(&[(5, 2), (4, 2)]), &near, &far).unwrap();
        assert_eq!(once.tail, 2);
        assert!(once.overcount > 0);
    }

    #[test]
    fn an_overcount_of_any_rate_leaves_the_tail_alone() {
        for every in 2..200 {
            for tail in 1..6 {
                let near = overcounting(tail, 1000, every, 8);
                let far = overcounting(tail, 2000, every, 8);
                let periods = short_periods(&near, &far, 2).into_iter();
                let short: Vec<_> = periods.flat_map(|it| overcounting(tail, it, every, 8)).collect();
                let found = one_a_count(&short, &near, &far).unwrap();
                assert_eq!(found.tail, tail, "one in {every}");
                let rate = MILLION / every;
                assert!(found.overcount.abs_diff(rate) <= rate / 10, "one in {every}: {found:?}");
            }
        }
    }

    #[test]
    fn a_tail_of_something_else_lies_on_the_line_through_both() {
        // Four instructions a count, 40 counts of tail.
        let found = line(&stops(&[(250, 840), (251, 844), (600, 900)]), &stops(&[(500, 1840)])).unwrap();
        assert_eq!(found.tail, 251 - 844 * (500 - 251) / (1840 - 844));
        assert!(line(&stops(&[(250, 840)]), &stops(&[(250, 840)])).is_none(), "no line through one point");
    }
}
