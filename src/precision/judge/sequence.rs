//! The order of `si_code`s against what the overflow limit says (Linux `kernel/events/core.c`,
//! `__perf_event_overflow`).

use super::{Outcome, Verdict};
use crate::event::kernel::{REGRESSIONS, Version};

/// Judges the codes that came against those that had to.
#[must_use]
pub fn judge(seen: &[&str], wanted: &[&str], kernel: Option<Version>) -> Verdict {
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

    fn outcome(seen: &[&str], wanted: &[&str], release: &str) -> Outcome {
        judge(seen, wanted, Version::parse(release)).outcome
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
