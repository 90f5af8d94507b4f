//! The order of `si_code`s against what the overflow limit says (Linux `kernel/events/core.c`,
//! `__perf_event_overflow`).

use super::{Outcome, Verdict};
use crate::event::kernel::{REGRESSIONS, Version};

/// The codes that have to come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    Exactly(Vec<&'static str>),
    /// POLL_IN each time, at least so often: of an event whose overflows nobody can foretell.
    AtLeast(u64),
    /// POLL_IN as often as the event says that it happened, and once at least.
    AsCounted,
    /// POLL_IN, less often than the limit, then POLL_HUP: of a clock, of which two overflows in one interrupt give one
    /// signal.
    UpTo(u64),
}

/// Judges the codes that came of an event that counted `counted` against those that had to.
#[must_use]
pub fn judge(seen: &[&str], wanted: &Wanted, counted: u64, kernel: Option<Version>) -> Verdict {
    let number = seen.len() as u64;
    let (right, of) = match wanted {
        Wanted::Exactly(wanted) => return exactly(seen, wanted, kernel),
        Wanted::UpTo(limit) => return up_to(seen, *limit, kernel),
        Wanted::AtLeast(least) => (number >= *least, format!("at least {least}")),
        Wanted::AsCounted => (number == counted && counted > 0, format!("{counted} that were counted")),
    };
    match (seen.iter().all(|code| *code == "POLL_IN"), right) {
        (true, true) => Verdict::pass(),
        (false, _) => Verdict::fail(format!("{} instead of POLL_IN only", runs(seen))),
        (true, false) => Verdict::fail(format!("{} of {of}", runs(seen))),
    }
}

fn up_to(seen: &[&str], limit: u64, kernel: Option<Version>) -> Verdict {
    let all: Vec<_> = (1..limit).map(|_| "POLL_IN").chain(["POLL_HUP"]).collect();
    let of_all = all.get(all.len().saturating_sub(seen.len())..).unwrap_or_default();
    match limit - (seen.len() as u64).min(limit) {
        missing @ 1.. if seen == of_all && !seen.is_empty() => Verdict::because(
            Outcome::Pass,
            format!("{missing} of {limit} overflows shared an interrupt, and a signal, with another"),
        ),
        _ => exactly(seen, &all, kernel),
    }
}

fn exactly(seen: &[&str], wanted: &[&str], kernel: Option<Version>) -> Verdict {
    if seen == wanted {
        return Verdict::pass();
    }
    let told = format!("{} instead of {}", runs(seen), runs(wanted));
    let affected = |name: &str| {
        REGRESSIONS
            .iter()
            .any(|known| known.name == name && kernel.is_some_and(|kernel| known.affects(kernel)))
    };
    // POLL_HUP lost: the last code is POLL_IN, or is missing; the rest is right.
    let all_but_last = &wanted[..wanted.len().saturating_sub(1)];
    let hangs_up = wanted.last() == Some(&"POLL_HUP");
    let lost_hup =
        hangs_up && (seen == all_but_last || seen.split_last() == Some((&"POLL_IN", all_but_last)));
    // Dead after the first limit: one POLL_HUP of many.
    let dead = wanted.len() > 1 && wanted.iter().all(|code| *code == "POLL_HUP") && seen == ["POLL_HUP"];
    match (lost_hup && affected("poll-hup-lost"), dead && affected("breakpoint-dead-after-refresh")) {
        (true, _) => Verdict::because(Outcome::KnownKernelBug, format!("poll-hup-lost: {told}")),
        (_, true) => {
            Verdict::because(Outcome::KnownKernelBug, format!("breakpoint-dead-after-refresh: {told}"))
        }
        _ => Verdict::fail(told),
    }
}

/// `4 × POLL_IN, 1 × POLL_HUP`.
#[must_use]
pub fn runs(codes: &[&str]) -> String {
    let mut runs: Vec<(&str, usize)> = Vec::new();
    for code in codes {
        match runs.last_mut() {
            Some((last, times)) if last == code => *times += 1,
            _ => runs.push((code, 1)),
        }
    }
    if runs.is_empty() {
        return "nothing".to_owned();
    }
    runs.iter().map(|(code, times)| format!("{times} × {code}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const IN: &str = "POLL_IN";
    const HUP: &str = "POLL_HUP";
    const FIVE: [&str; 5] = [IN, IN, IN, IN, HUP];

    fn outcome(seen: &[&str], wanted: &[&'static str], release: &str) -> Outcome {
        judge(seen, &Wanted::Exactly(wanted.to_vec()), 0, Version::parse(release)).outcome
    }

    #[test]
    fn without_a_limit_none_hangs_up() {
        let outcome = |seen: &[&str], wanted, counted| judge(seen, &wanted, counted, None).outcome;
        assert_eq!(outcome(&[IN; 7], Wanted::AtLeast(6), 0), Outcome::Pass);
        assert_eq!(outcome(&[IN; 5], Wanted::AtLeast(6), 0), Outcome::Fail);
        assert_eq!(outcome(&FIVE, Wanted::AtLeast(5), 0), Outcome::Fail);
        assert_eq!(outcome(&[IN; 7], Wanted::AsCounted, 7), Outcome::Pass);
        assert_eq!(outcome(&[IN; 7], Wanted::AsCounted, 6), Outcome::Fail);
        assert_eq!(outcome(&[], Wanted::AsCounted, 0), Outcome::Fail);
    }

    #[test]
    fn a_clocks_overflows_may_share_a_signal_and_the_last_hangs_up() {
        let judged = |seen: &[&str]| judge(seen, &Wanted::UpTo(5), 0, None);
        assert_eq!(judged(&FIVE), Verdict::pass());
        assert!(judged(&FIVE[1..]).reason.unwrap().starts_with("1 of 5 overflows shared"));
        assert_eq!(judged(&[HUP]).outcome, Outcome::Pass);
        for wrong in [&[IN; 5] as &[&str], &[IN; 4], &[], &[HUP, IN], &[IN, IN, IN, IN, IN, HUP]] {
            assert_eq!(judged(wrong).outcome, Outcome::Fail, "{wrong:?}");
        }
    }

    #[test]
    fn the_limit_of_five_as_it_has_to_be() {
        assert_eq!(outcome(&FIVE, &FIVE, "6.12.0"), Outcome::Pass);
        assert_eq!(outcome(&[IN, IN, IN, IN, IN], &FIVE, "6.12.0"), Outcome::Fail);
        assert_eq!(outcome(&[HUP, IN, IN, IN, IN], &FIVE, "6.16.3"), Outcome::Fail);
    }

    #[test]
    fn bugs_are_known_only_on_kernels_that_have_them() {
        assert_eq!(outcome(&[IN; 5], &FIVE, "6.16.3"), Outcome::KnownKernelBug);
        assert_eq!(outcome(&FIVE[..4], &FIVE, "6.16.3"), Outcome::KnownKernelBug);
        assert_eq!(outcome(&[IN; 5], &FIVE, "6.16.8"), Outcome::Fail);
        assert_eq!(outcome(&[HUP], &[HUP; 100], "6.18.44"), Outcome::KnownKernelBug);
        assert_eq!(outcome(&[HUP], &[HUP; 100], "6.15.0"), Outcome::Fail);
        assert_eq!(outcome(&[HUP, HUP], &[HUP; 100], "6.18.44"), Outcome::Fail);
    }

    #[test]
    fn runs_read_well() {
        assert_eq!((runs(&FIVE), runs(&[])), ("4 × POLL_IN, 1 × POLL_HUP".to_owned(), "nothing".to_owned()));
    }
}
