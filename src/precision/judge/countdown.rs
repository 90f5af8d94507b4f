//! The kernel's countdown to a counter's next overflow, followed from the outside by what was counted.

/// x86 raises a countdown below two to two (Linux `arch/x86/events/core.c`, `x86_perf_event_set_period`).
const SHORTEST: i64 = 2;

/// `hw.period_left` of one event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Countdown {
    period: i64,
    left: i64,
    /// What lies a whole period or more beyond an overflow is the next ones, whose signals were lost, and not an interrupt
    /// as late as that.
    loses: bool,
}

/// What an interrupt says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Passed {
    /// Overflows since the interrupt before; 0 where none was due.
    pub overflows: u64,
    /// Occurrences since the last of them; negative before it.
    pub late: i64,
}

impl Countdown {
    pub(super) const fn new(period: i64, loses: bool) -> Self {
        Self { period, left: period, loses }
    }

    /// An interrupt, after `counted` more occurrences.
    pub(super) fn interrupted(&mut self, counted: i64) -> Passed {
        let beyond = counted - self.left.max(SHORTEST);
        self.left -= counted;
        if beyond < 0 {
            return Passed { overflows: 0, late: beyond };
        }
        if self.loses {
            let late = beyond % self.period;
            self.left = self.period - late;
            return Passed { overflows: 1 + (beyond / self.period) as u64, late };
        }
        self.reload();
        Passed { overflows: 1, late: beyond }
    }

    /// `counted` occurrences without an interrupt, then the event is started anew.
    pub(super) fn counted(&mut self, counted: i64) {
        self.left -= counted;
        self.reload();
    }

    /// Overflows that `counted` more occurrences are.
    pub(super) fn overflows_in(&self, counted: i64) -> u64 {
        let beyond = counted - self.left.max(SHORTEST);
        if beyond < 0 { 0 } else { 1 + (beyond / self.period) as u64 }
    }

    /// `x86_perf_event_set_period`: of an interrupt that is a whole period late, the countdown begins anew.
    const fn reload(&mut self) {
        if self.left <= -self.period {
            self.left = self.period;
        } else if self.left <= 0 {
            self.left += self.period;
        }
    }
}

/// Whether a counter that said `interrupts` has lost signals: all are on time, as it still overflows at whole periods, and
/// they are not all as many periods apart as an interrupt that is always late would have them.
pub(super) fn loses(interrupts: &[i64], period: i64) -> bool {
    let on_time = |count: &i64| count.rem_euclid(period) * 2 < period;
    let passed = |pair: &[i64]| pair.iter().map(|count| count.div_euclid(period)).collect::<Vec<_>>();
    let apart = |pair: &[i64]| match passed(pair).as_slice() {
        [before, after] => after - before,
        _ => 0,
    };
    let since_start: Vec<i64> = std::iter::once(0).chain(interrupts.iter().copied()).collect();
    let gaps: Vec<i64> = since_start.windows(2).map(apart).collect();
    let varies = gaps.windows(2).any(|pair| matches!(pair, [before, after] if before != after));
    interrupts.iter().all(on_time) && (varies || gaps.contains(&1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupt_a_period_late_begins_anew() {
        let mut countdown = Countdown::new(61, false);
        assert_eq!(countdown.interrupted(64), Passed { overflows: 1, late: 3 });
        assert_eq!(countdown.interrupted(58), Passed { overflows: 1, late: 0 });
        assert_eq!(countdown.interrupted(61 + 70), Passed { overflows: 1, late: 70 });
        assert_eq!(countdown.interrupted(61), Passed { overflows: 1, late: 0 });
        assert_eq!(countdown.interrupted(60), Passed { overflows: 0, late: -1 });
    }

    #[test]
    fn losses_are_whole_periods() {
        assert!(loses(&[61, 122, 244, 305], 61) && loses(&[64, 125, 247], 61));
        assert!(loses(&[122, 305, 427], 61), "most of them, and no two are neighbours");
        assert!(loses(&[122, 305], 61) && loses(&[61, 183], 61));
        assert!(!loses(&[122, 244, 366], 61), "each as late as a period");
        assert!(!loses(&[123, 246, 369, 492], 61), "each as late as a period and one");
        assert!(!loses(&[61, 160, 230], 61), "some are half a period late");
        let mut countdown = Countdown::new(61, true);
        assert_eq!(countdown.interrupted(61 * 3 + 4), Passed { overflows: 3, late: 4 });
        assert_eq!((countdown.overflows_in(56), countdown.overflows_in(57)), (0, 1));
    }
}
