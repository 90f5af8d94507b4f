//! What a period that is changed while the event is enabled has to give: the new one, at once (`perf_event_open(2)`,
//! PERF_EVENT_IOC_PERIOD: since Linux 3.14 on every architecture; before, from the next overflow on).

use super::{Histogram, Outcome, Verdict};

/// Periods before and after the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    pub old: u64,
    pub new: u64,
}

/// Of an event each of whose occurrences is known: `before` and `after` are the passes that signals came in, from 1 in
/// each stretch, of `passes` in the later one.
///
/// The kernel begins the new period's count anew, or lets it be over at once: the first signal is in one of its passes.
#[must_use]
pub fn in_passes(before: &[u64], after: &[u64], passes: u64, change: Change) -> Verdict {
    let Change { old, new } = change;
    if let Some((n, pass)) = (1..).zip(before).find(|(n, pass)| **pass != n * old) {
        return Verdict::fail(format!("signal {n} came in pass {pass} before the change, not {}", n * old));
    }
    if keeps_the_old_one(after, passes, change) {
        return Verdict::because(
            Outcome::KnownKernelBug,
            format!(
                "period-kept-once: an overflow at once, the next {} later by the old period, then by the new one; a tracer that \
                 changes periods has to allow for two signals (Linux kernel/events/core.c, perf_swevent_set_period)",
                old - 1
            ),
        );
    }
    let Some(first) = after.first().copied() else {
        return Verdict::fail(format!("no signal in {passes} passes after the change to {new}"));
    };
    if first > new {
        return Verdict::fail(format!("the first signal came {first} passes after the change to {new}"));
    }
    if let Some((n, pass)) = (0..).zip(after).find(|(n, pass)| **pass != first + n * new) {
        let wanted = first + n * new;
        return Verdict::fail(format!("signal {} came in pass {pass} after the change, not {wanted}", n + 1));
    }
    match 1 + (passes - first) / new {
        wanted if wanted == after.len() as u64 => Verdict::pass(),
        wanted => Verdict::fail(format!("{} signals instead of {wanted} after the change", after.len())),
    }
}

/// What the kernel makes of a software event: `_perf_event_period` clears what was left, so that the next occurrence
/// overflows, and `perf_swevent_set_period` then reloads `last_period`, which is the old one still.
fn keeps_the_old_one(after: &[u64], passes: u64, change: Change) -> bool {
    let Change { old, new } = change;
    let rest = (0..).map(|n| old + n * new).take_while(|pass| *pass <= passes);
    new != old && after.len() > 2 && std::iter::once(1).chain(rest).eq(after.iter().copied())
}

/// Of a counter: `before` and `after` are its counts at signals, and `changed` that at the change. From one signal to the
/// next it usually counts the period, but for how late interrupts are.
#[must_use]
pub fn of_counter(before: &[u64], changed: u64, after: &[u64], change: Change) -> Verdict {
    let Change { old, new } = change;
    // Nearer to one of the two than to the other. The change is in the middle of an old period, whose end is no new one.
    let is_new = |count: f64| count < (old + new) as f64 / 2.0;
    let is_first = |count: i64| count < (old + 3 * new) as i64 / 4;
    let usual = |counts: &[u64]| {
        let gaps = counts.windows(2).filter_map(|pair| match pair {
            [from, to] => Some(*to as i64 - *from as i64),
            _ => None,
        });
        gaps.collect::<Histogram>().quantile(0.5)
    };
    let (Some(of_old), Some(of_new), Some(first)) = (usual(before), usual(after), after.first()) else {
        return Verdict::fail(format!(
            "{} signals before the change, {} after it",
            before.len(),
            after.len()
        ));
    };
    let first = *first as i64 - changed as i64;
    match (is_new(of_old), is_first(first), is_new(of_new)) {
        (false, true, true) => Verdict::pass(),
        (true, ..) => Verdict::fail(format!("a signal each {of_old:.0} before the change, not {old}")),
        (_, false, _) => Verdict::fail(format!("the first signal came {first} after the change to {new}")),
        (_, _, false) => Verdict::fail(format!("a signal each {of_new:.0} after the change, not {new}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANGE: Change = Change { old: 100, new: 10 };

    #[test]
    fn the_new_period_holds_at_once_and_exactly() {
        let outcome = |before: &[u64], after: &[u64]| in_passes(before, after, 35, CHANGE).outcome;
        assert_eq!(outcome(&[100, 200], &[10, 20, 30]), Outcome::Pass);
        assert_eq!(outcome(&[100, 200], &[1, 11, 21, 31]), Outcome::Pass);
        assert_eq!(outcome(&[100, 201], &[10, 20, 30]), Outcome::Fail);
        assert_eq!(outcome(&[100], &[]), Outcome::Fail);
        assert_eq!(outcome(&[100], &[11, 21, 31]), Outcome::Fail, "the old period still counted");
        assert_eq!(outcome(&[100], &[10, 20, 31]), Outcome::Fail);
        assert_eq!(outcome(&[100], &[10, 20]), Outcome::Fail, "one is missing");
    }

    #[test]
    fn the_old_period_once_more_is_known() {
        let outcome = |after: &[u64]| in_passes(&[100, 200], after, 125, CHANGE).outcome;
        assert_eq!(outcome(&[1, 100, 110, 120]), Outcome::KnownKernelBug);
        assert_eq!(outcome(&[1, 100, 110]), Outcome::Fail, "one is missing");
        assert_eq!(outcome(&[2, 101, 111, 121]), Outcome::Fail);
        assert_eq!(outcome(&[1, 100, 200]), Outcome::Fail, "the old one goes on");
    }

    #[test]
    fn a_counters_period_is_told_by_its_counts() {
        let outcome = |before: &[u64], after: &[u64]| of_counter(before, 250, after, CHANGE).outcome;
        assert_eq!(outcome(&[103, 202], &[262, 270, 283]), Outcome::Pass);
        assert_eq!(outcome(&[103, 202], &[303, 313, 323]), Outcome::Fail, "late by the old period");
        assert_eq!(outcome(&[103, 202], &[262, 363, 460]), Outcome::Fail, "the old one goes on");
        assert_eq!(outcome(&[10, 22], &[262, 270, 283]), Outcome::Fail);
        assert_eq!(outcome(&[103], &[262, 270]), Outcome::Fail, "too few to tell");
    }
}
