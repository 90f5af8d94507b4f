//! An event at work in one thread: its switch, its countdown to the next overflow, and what the model does to it.

use std::time::Duration;

use nix::unistd::Pid;

use super::attr::Retired;
use super::clock::Running;
use super::event::{Event, Key};
use super::model::{Model, TICK};

/// x86 raises a countdown below two to two (Linux `arch/x86/events/core.c`, `x86_perf_event_set_period`).
const SHORTEST: i64 = 2;

/// Whose count an instance adds to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The event in the thread it was opened on.
    Own,
    /// Its copy in a thread or process that one started (`attr.inherit`).
    Inherited,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    Off,
    On,
}

/// What comes right after the instructions that have retired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boundary {
    /// The next user instruction.
    User,
    /// The next one, which is fused with this one.
    Fused,
    /// The kernel: a skid ends here.
    Kernel,
}

/// What a record says of throttling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    Throttled,
    Unthrottled,
}

#[derive(Clone, Debug)]
pub struct Instance {
    pub event: Key,
    pub role: Role,
    /// Enabled or not, by itself.
    pub switch: Switch,
    /// Whether it counts: it is enabled, and so is its group's leader.
    pub active: bool,
    /// `attr.enable_on_exec`, which works once.
    pub enable_on_exec: bool,
    /// The kernel's `period_left`.
    left: i64,
    /// What the hardware counts beyond `left`, because it cannot count down from one.
    extra: i64,
    /// Instructions until the signal of an overflow that has happened.
    landing: Option<u32>,
    /// Instructions until the next one too many.
    until_overcount: u64,
    /// What it has counted since it was last reset, of an inherited one.
    pub counted: u64,
    /// Throttling has begun or ended, and the buffer is still to be told.
    pub turned: Option<Turn>,
    tick: u64,
    overflows_in_tick: u32,
    throttled: bool,
}

impl Instance {
    #[must_use]
    pub fn new(event: Key, role: Role, switch: Switch, enable_on_exec: bool, model: &Model) -> Self {
        Self {
            event,
            role,
            switch,
            active: false,
            enable_on_exec,
            left: 0,
            extra: 0,
            landing: None,
            until_overcount: model.overcount.unwrap_or(0),
            counted: 0,
            turned: None,
            tick: 0,
            overflows_in_tick: 0,
            throttled: false,
        }
    }

    /// The hardware starts counting, from what is left of the period.
    pub fn start(&mut self, period: u64) {
        self.landing = None;
        self.throttled = false;
        self.overflows_in_tick = 0;
        self.reload(period);
    }

    /// A new period: what was left of the old one is forgotten.
    pub fn restart(&mut self, period: u64) {
        self.left = 0;
        self.landing = None;
        self.reload(period);
    }

    /// `x86_perf_event_set_period`.
    fn reload(&mut self, period: u64) {
        let period = period as i64;
        if self.left <= -period {
            self.left = period;
        } else if self.left <= 0 {
            self.left += period;
        }
        self.extra = (SHORTEST - self.left).max(0);
    }

    /// Counts what retired; true when an overflow's interrupt arrives now. `instructions` is how many the thread
    /// has retired, these included.
    pub fn count(
        &mut self,
        thread: Pid,
        event: &mut Event,
        retired: Retired,
        boundary: Boundary,
        instructions: u64,
        model: &Model,
    ) -> bool {
        if let Some(most) = model.multiplex {
            let counts = instructions % TICK < most;
            let running = if counts { Running::Counting } else { Running::Enabled };
            event.clock(thread, running, Duration::ZERO);
            if !counts {
                return false;
            }
        }
        if self.throttled {
            if instructions / TICK == self.tick {
                return false;
            }
            self.throttled = false;
            self.turned = Some(Turn::Unthrottled);
        }
        let counted = event.counted.of(retired) + self.overcounted(retired.instructions, model);
        event.add(self.role, u64::from(counted));
        self.counted = self.counted.wrapping_add(counted.into());
        if event.period == 0 {
            return false;
        }
        self.left -= i64::from(counted);
        self.landing = match self.landing {
            Some(ahead) => Some(ahead.saturating_sub(retired.instructions)),
            None if self.left + self.extra <= 0 => Some(model.skid.draw(&mut event.random)),
            None => None,
        };
        let held = boundary == Boundary::Fused;
        match self.landing {
            Some(ahead) if boundary == Boundary::Kernel || ahead == 0 && !held => {
                self.landing = None;
                self.reload(event.period);
                self.throttle(instructions, model);
                true
            }
            _ => false,
        }
    }

    fn overcounted(&mut self, instructions: u32, model: &Model) -> u32 {
        let Some(every) = model.overcount else { return 0 };
        if self.until_overcount > u64::from(instructions) {
            self.until_overcount -= u64::from(instructions);
            return 0;
        }
        self.until_overcount += every - u64::from(instructions).min(every);
        1
    }

    fn throttle(&mut self, instructions: u64, model: &Model) {
        let Some(most) = model.throttle else { return };
        let tick = instructions / TICK;
        if tick != self.tick {
            (self.tick, self.overflows_in_tick) = (tick, 0);
        }
        self.overflows_in_tick += 1;
        self.throttled = self.overflows_in_tick >= most;
        if self.throttled {
            self.turned = Some(Turn::Throttled);
        }
    }
}
