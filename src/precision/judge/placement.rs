//! Breakpoints behind instructions that are known to swallow them.

use super::{Outcome, Verdict};
use crate::address::RuntimeAddr;

/// A load of ss holds debug exceptions back until one more instruction has run (SDM volume 3, section 6.8.3): a
/// breakpoint on that one never fires. Both answers are findings; anything between is not.
#[must_use]
pub fn behind_mov_ss(at_expected: u64, signals: u64, passes: u64) -> (Verdict, String) {
    match (at_expected, signals) {
        (0, 0) => (Verdict::pass(), format!("held back: 0 of {passes} fired, as the manual says")),
        _ if at_expected == passes && signals == passes => {
            (Verdict::pass(), format!("not held back: {passes} of {passes} fired at their address"))
        }
        _ => {
            let text = format!("{signals} of {passes} fired, {at_expected} of them at their address");
            (Verdict::because(Outcome::Unexplained, text.clone()), text)
        }
    }
}

/// Two breakpoints on neighbouring instructions: `places` have to be theirs in turn.
#[must_use]
pub fn adjacent(
    places: &[RuntimeAddr],
    first: RuntimeAddr,
    second: RuntimeAddr,
    passes: u64,
    name: &str,
) -> (Verdict, String) {
    let of = |wanted| places.iter().filter(|place| **place == wanted).count() as u64;
    let (at_first, at_second) = (of(first), of(second));
    let alternate = places.chunks(2).all(|pair| pair == [first, second]);
    let text = format!("{at_first} and {at_second} of {passes} at their addresses");
    let verdict = match (at_first, at_second) {
        _ if alternate && at_second == passes => Verdict::pass(),
        // RF, set so that the first one's instruction can run, is still set behind an exit to the hypervisor.
        (fired, 0) if name == "cpuid" && fired == passes && places.len() as u64 == passes => {
            Verdict::because(
                Outcome::KnownKernelBug,
                format!(
                    "hypervisor-keeps-rf: no breakpoint behind a breakpoint on {name} fires; a tracer has to clear RF"
                ),
            )
        }
        _ => Verdict::fail(text.clone()),
    };
    (verdict, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: RuntimeAddr = RuntimeAddr(16);
    const B: RuntimeAddr = RuntimeAddr(17);

    #[test]
    fn neighbours_have_to_alternate() {
        let outcome = |places: &[RuntimeAddr], name| adjacent(places, A, B, 2, name).0.outcome;
        assert_eq!(outcome(&[A, B, A, B], "nop"), Outcome::Pass);
        assert_eq!(outcome(&[A, A, B, B], "nop"), Outcome::Fail);
        assert_eq!(outcome(&[A, B, A], "nop"), Outcome::Fail);
        assert_eq!(outcome(&[A, A], "nop"), Outcome::Fail);
        assert_eq!(outcome(&[A, A], "cpuid"), Outcome::KnownKernelBug);
        assert_eq!(outcome(&[A], "cpuid"), Outcome::Fail);
    }

    #[test]
    fn a_shadow_is_whole_or_not_there() {
        let outcome = |at, signals| behind_mov_ss(at, signals, 10).0.outcome;
        assert_eq!((outcome(0, 0), outcome(10, 10)), (Outcome::Pass, Outcome::Pass));
        assert_eq!((outcome(5, 5), outcome(0, 10)), (Outcome::Unexplained, Outcome::Unexplained));
    }
}
