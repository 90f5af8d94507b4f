//! Engines, deliveries and re-arms, each tried once.

use serde::Serialize;

use crate::event::choose::{Pair, choose, rearm_name};
use crate::event::error::{Cause, OpenError};
use crate::event::kernel::Regression;
use crate::event::probe::calibrate::calibrate;
use crate::event::probe::failure::{Failure, Fired};
use crate::event::probe::{breakpoint, counter, limit, registers, trap_flag, trigger};
use crate::event::rearm;
use crate::record::calibration::Calibration;
use crate::record::control::Delivery;
use crate::record::counted::{Counted, Unit};

/// What became of trying something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "result", rename_all = "lowercase")]
pub enum Tried {
    Works {
        /// Signals that came where they had to.
        hits: u32,
        /// Their `si_code`s in order, run-length encoded.
        codes: Vec<(&'static str, u32)>,
    },
    /// The hardware or the hypervisor does not have it, which is nobody's mistake.
    Absent {
        why: String,
        errno: i32,
        remedy: &'static str,
    },
    Fails {
        why: String,
        errno: Option<i32>,
        remedy: &'static str,
    },
}

/// One mechanism by its name on the command line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mechanism {
    pub name: String,
    #[serde(flatten)]
    pub tried: Tried,
}

/// All of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mechanisms {
    /// The inherited breakpoint on a function's entry, in this thread and a new one.
    pub trigger: Tried,
    /// Every engine with every delivery it has.
    pub engines: Vec<Mechanism>,
    /// Ways to start a fasync breakpoint again, in the order they are preferred.
    pub rearms: Vec<Mechanism>,
    /// A REFRESH limit of five: whether its last signal is POLL_HUP.
    pub limit: Tried,
    /// The re-arm in use: the first that works.
    pub rearm: Option<String>,
    pub debug_registers_free: Option<u32>,
    /// What stepping by instructions/fasync has to know; `None` where no instruction counter works.
    pub counter: Option<Counter>,
    /// What `--engine auto` takes here.
    pub auto: Auto,
}

/// The instruction counter, measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Counter {
    Calibrated(Calibration),
    Failed { why: String, remedy: &'static str },
}

/// The outcome of `--engine auto`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Auto {
    Chosen { engine: String, why: String, notices: Vec<String> },
    Nothing { error: String },
}

impl Mechanisms {
    pub(super) fn probe() -> Self {
        let rearms: Vec<_> =
            rearm::ALL.into_iter().map(|way| named(rearm_name(way), breakpoint::fasync(way))).collect();
        let working = rearms.iter().find(|way| matches!(way.tried, Tried::Works { .. }));
        let fasync = working.or(rearms.first()).map(|way| way.tried.clone());
        let rearm = working.map(|way| way.name.clone());
        let counters = [Delivery::Fasync, Delivery::Sigtrap].map(|delivery| {
            let name = Pair(crate::record::control::Engine::Instructions, delivery).to_string();
            named(&name, counter::overflows(Counted::Instructions, delivery))
        });
        let counter =
            matches!(counters, [Mechanism { tried: Tried::Works { .. }, .. }, _]).then(Counter::here);
        let mut engines = vec![named("breakpoint/sigtrap", breakpoint::sigtrap())];
        engines.extend(fasync.map(|tried| Mechanism { name: "breakpoint/fasync".to_owned(), tried }));
        engines.push(named("trap-flag", trap_flag::steps()));
        engines.extend(counters);
        Self {
            trigger: trigger::fires_in_new_threads().into(),
            engines,
            rearms,
            limit: limit::hangs_up().into(),
            rearm,
            debug_registers_free: registers::free().ok(),
            counter,
            auto: Auto::here(),
        }
    }
}

impl Mechanisms {
    /// Whether `known` showed itself; `None` where the events it is about were refused.
    pub(super) fn shows(&self, known: &Regression) -> Option<bool> {
        let symptom = match known.name {
            "breakpoint-dead-after-refresh" => &self.rearms.first()?.tried,
            "poll-hup-lost" => &self.limit,
            _ => return None,
        };
        match symptom {
            Tried::Works { .. } => Some(false),
            Tried::Fails { errno: None, .. } => Some(true),
            Tried::Fails { .. } | Tried::Absent { .. } => None,
        }
    }
}

impl Counter {
    fn here() -> Self {
        match calibrate(Counted::Instructions, Unit::Instruction, Delivery::Fasync, 1) {
            Ok(calibration) => Self::Calibrated(calibration),
            Err(failure) => Self::Failed { why: failure.to_string(), remedy: failure.remedy() },
        }
    }
}

impl Auto {
    fn here() -> Self {
        match choose(None, None) {
            Ok(choice) => Self::Chosen {
                engine: Pair(choice.engine, choice.delivery).to_string(),
                why: choice.why,
                notices: choice.notices,
            },
            Err(error) => Self::Nothing { error: error.to_string() },
        }
    }
}

fn named(name: &str, result: Result<Fired, Failure>) -> Mechanism {
    Mechanism { name: name.to_owned(), tried: result.into() }
}

impl From<Result<Fired, Failure>> for Tried {
    fn from(result: Result<Fired, Failure>) -> Self {
        match result {
            Ok(Fired { hits, codes, .. }) => Self::Works { hits, codes },
            Err(Failure::Refused(error @ OpenError { errno, cause: Cause::NoPmu, .. })) => {
                Self::Absent { why: error.to_string(), errno, remedy: error.remedy() }
            }
            Err(failure) => {
                let errno = match &failure {
                    Failure::Refused(error) => Some(error.errno),
                    Failure::Rearm { errno } | Failure::NotStarted { errno } => Some(*errno),
                    _ => None,
                };
                Self::Fails { why: failure.to_string(), errno, remedy: failure.remedy() }
            }
        }
    }
}
