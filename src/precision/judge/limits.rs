//! What the limits found mean.

use std::io::Read;
use std::os::fd::OwnedFd;

use super::counter::Counted;
use super::{Outcome, Verdict};

/// Registers in use are another's right; none at all is what stops tracing.
#[must_use]
pub fn debug_registers(free: u32) -> Verdict {
    match free {
        0 => Verdict::fail("none is free: leave the debugger, and end `perf record -e mem:…`"),
        _ => Verdict::pass(),
    }
}

/// The handler's counted instructions have to be the same number each time, or no period can allow for them.
#[must_use]
pub fn handler_tail(counted: &Counted) -> (Verdict, String) {
    let Counted { overhead, steady, steps, .. } = counted;
    let text = format!("{overhead} instructions of the handler are counted, in {steady} of {steps} steps");
    let verdict = match (*steps, *steady) {
        (0, _) => Verdict::fail("fewer than two overflows came"),
        (steps, steady) if steady * 10 >= steps * 9 => Verdict::pass(),
        _ => Verdict::because(Outcome::Unexplained, text.clone()),
    };
    (verdict, text)
}

/// Overflows beyond `rate / hz` a tick are held back by design (Linux `kernel/events/core.c`,
/// `__perf_event_account_interrupt`); fewer signals without that are lost.
#[must_use]
pub fn throttling(asked: u64, signals: u64, rate: Option<u64>, hz: Option<u32>) -> (Verdict, String) {
    let limit = match (rate, hz.filter(|hz| *hz > 0)) {
        (Some(rate), Some(hz)) => format!("the limit is {} a tick", rate.div_ceil(u64::from(hz))),
        _ => "the limit is unknown".to_owned(),
    };
    let text = format!("{signals} signals of {asked} overflows, the handlers' own not counted; {limit}");
    (if signals == 0 { Verdict::fail(text.clone()) } else { Verdict::pass() }, text)
}

#[must_use]
pub fn known(name: &str, what: &str) -> Verdict {
    Verdict::because(Outcome::KnownKernelBug, format!("{name}: {what}"))
}

/// Whether a pinned event has its counter: without one, reading it gives nothing.
#[must_use]
pub fn holds_a_counter(event: &OwnedFd) -> bool {
    let mut count = [0u8; 8];
    let read = event.try_clone().and_then(|event| std::fs::File::from(event).read(&mut count));
    read.is_ok_and(|bytes| bytes == count.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_that_varies_is_unexplained() {
        let counted = |steady| Counted { overhead: 14, steady, steps: 100, ..Counted::default() };
        assert_eq!(handler_tail(&counted(99)).0.outcome, Outcome::Pass);
        assert_eq!(handler_tail(&counted(50)).0.outcome, Outcome::Unexplained);
        assert_eq!(handler_tail(&Counted::default()).0.outcome, Outcome::Fail);
    }

    #[test]
    fn the_limit_of_a_tick_is_named() {
        let (verdict, text) = throttling(10_000, 400, Some(100_000), Some(250));
        assert_eq!(verdict.outcome, Outcome::Pass);
        assert_eq!(
            text,
            "400 signals of 10000 overflows, the handlers' own not counted; the limit is 400 a tick"
        );
        assert_eq!(throttling(10, 0, None, None).0.outcome, Outcome::Fail);
    }
}
