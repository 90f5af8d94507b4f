//! Which engine and delivery to use: what was asked for if it works here, else the best that does.

use std::fmt;

use super::error::{Cause, OpenError, Wanted};
use super::kernel::{REGRESSIONS, Version};
use super::probe::failure::{Failure, Fired, Held};
use super::probe::{breakpoint, counter, registers, trap_flag, trigger};
use super::rearm;
use crate::record::control::{Delivery, Engine, Rearm};
use crate::record::counted::Counted;

/// An engine and a delivery that work here, and how that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    pub engine: Engine,
    pub delivery: Delivery,
    /// How the step event is started again. Only [`Delivery::Fasync`] uses it.
    pub rearm: Rearm,
    /// No perf event is to be had: breakpoints are instructions in private copies of the program's code.
    pub patch: bool,
    /// One line: what was tried and seen.
    pub why: String,
    /// What the user should know though it works, a line each.
    pub notices: Vec<String>,
}

/// Nothing that was asked for works here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChooseError {
    /// No trigger breakpoint, which every engine needs.
    #[error("{0}; {remedy}", remedy = .0.remedy())]
    Refused(OpenError),
    /// The trigger breakpoint opens, and does not do what it must.
    #[error("the trigger breakpoint does not work: {0}; {remedy}", remedy = .0.remedy())]
    Trigger(Failure),
    /// The mechanism asked for does not work.
    #[error("{} does not work here: {failure}; {remedy}", Pair(*engine, *delivery), remedy = failure.remedy())]
    Asked { engine: Engine, delivery: Delivery, failure: Failure },
    /// The trigger works, and no step mechanism does.
    #[error("no step mechanism works here; the last one tried: {last}; {remedy}", remedy = last.remedy())]
    Nothing { last: Failure },
    /// An engine and a delivery that do not go together.
    #[error("{} does not exist; the trap flag has no event to deliver: leave --delivery off", Pair(*engine, *delivery))]
    NoSuchPair { engine: Engine, delivery: Delivery },
}

/// What a machine answers to each probe. The real one is [`Here`]; tests play back others.
#[allow(
    clippy::missing_errors_doc,
    reason = "every probe fails alike: with what the kernel refused or did not do"
)]
pub trait Machine {
    fn kernel(&mut self) -> Option<Version>;
    fn free_registers(&mut self) -> Result<u32, OpenError>;
    fn trigger(&mut self) -> Result<Fired, Failure>;
    fn sigtrap(&mut self) -> Result<Fired, Failure>;
    fn fasync(&mut self, way: Rearm) -> Result<Fired, Failure>;
    fn trap_flag(&mut self) -> Result<Fired, Failure>;
    fn counter(&mut self, delivery: Delivery) -> Result<Fired, Failure>;
}

/// This machine, by trying.
#[derive(Default)]
pub struct Here {
    /// What the `instructions` engine is to count.
    pub counted: Counted,
}

impl Machine for Here {
    fn kernel(&mut self) -> Option<Version> {
        Version::running()
    }
    fn free_registers(&mut self) -> Result<u32, OpenError> {
        registers::free()
    }
    fn trigger(&mut self) -> Result<Fired, Failure> {
        trigger::fires_in_new_threads()
    }
    fn sigtrap(&mut self) -> Result<Fired, Failure> {
        breakpoint::sigtrap()
    }
    fn fasync(&mut self, way: Rearm) -> Result<Fired, Failure> {
        breakpoint::fasync(way)
    }
    fn trap_flag(&mut self) -> Result<Fired, Failure> {
        trap_flag::steps()
    }
    fn counter(&mut self, delivery: Delivery) -> Result<Fired, Failure> {
        counter::overflows(self.counted, delivery)
    }
}

/// Chooses for this machine, by opening and firing once; `None` leaves that part to it.
///
/// # Errors
/// A [`ChooseError`] that names the errno, its cause and the next command.
pub fn choose(engine: Option<Engine>, delivery: Option<Delivery>) -> Result<Choice, ChooseError> {
    choose_on(&mut Here::default(), engine, delivery)
}

/// [`choose`] for any machine.
///
/// # Errors
/// As [`choose`].
pub fn choose_on(
    machine: &mut dyn Machine,
    engine: Option<Engine>,
    delivery: Option<Delivery>,
) -> Result<Choice, ChooseError> {
    let candidates = candidates(engine, delivery)?;
    if let Err(failure) = machine.trigger() {
        return without_perf(machine, &candidates, failure);
    }
    let mut notices = Vec::new();
    let mut failed = None;
    for &(engine, delivery) in &candidates {
        match try_pair(machine, engine, delivery) {
            Ok((rearm, why, held)) => {
                notices.extend(about_throttling(held));
                notices.extend(about_rearm(machine, delivery, rearm));
                notices.extend(about_registers(machine, engine));
                // Between single steps, breakpoint events must be moved.
                let unmoved = (engine == Engine::TrapFlag).then(|| machine.sigtrap().err()).flatten();
                if let Some(failure) = &unmoved {
                    notices.push(format!("breakpoint events do not work here: {failure}; {PATCHED}"));
                }
                return Ok(Choice { engine, delivery, rearm, patch: unmoved.is_some(), why, notices });
            }
            Err(failure) => {
                notices.push(format!("{} does not work here: {failure}", Pair(engine, delivery)));
                failed = Some((engine, delivery, failure));
            }
        }
    }
    Err(match (failed, candidates.as_slice()) {
        (Some((engine, delivery, failure)), [_only]) => ChooseError::Asked { engine, delivery, failure },
        (Some((_, _, last)), _) => ChooseError::Nothing { last },
        (None, _) => unreachable!("candidates() gives at least one pair"),
    })
}

/// What is told where no breakpoint event is to be had.
const PATCHED: &str = "the program's code is patched: breakpoint instructions, in private copies of its pages, stand \
                       where it is entered and taken up again";

/// The trap flag, with breakpoint instructions for what perf events do elsewhere.
fn without_perf(
    machine: &mut dyn Machine,
    candidates: &[(Engine, Delivery)],
    failure: Failure,
) -> Result<Choice, ChooseError> {
    let pair = (Engine::TrapFlag, Delivery::Trap);
    let refused = match failure {
        Failure::Refused(error) => ChooseError::Refused(error),
        failure => ChooseError::Trigger(failure),
    };
    if !candidates.contains(&pair) {
        return Err(refused);
    }
    let (rearm, why, _) = try_pair(machine, pair.0, pair.1).map_err(|last| ChooseError::Nothing { last })?;
    let notices = vec![refused.to_string(), format!("the trap flag steps instead, and {PATCHED}")];
    Ok(Choice { engine: pair.0, delivery: pair.1, rearm, patch: true, why, notices })
}

/// What may be tried, best first.
fn candidates(
    engine: Option<Engine>,
    delivery: Option<Delivery>,
) -> Result<Vec<(Engine, Delivery)>, ChooseError> {
    use Delivery::{Fasync, Sigtrap, Trap};
    use Engine::{Breakpoint, Instructions, TrapFlag};
    let pairs = match (engine, delivery) {
        (None, None) => vec![(Breakpoint, Sigtrap), (Breakpoint, Fasync), (TrapFlag, Trap)],
        (None | Some(TrapFlag), Some(Trap)) | (Some(TrapFlag), None) => vec![(TrapFlag, Trap)],
        (Some(Breakpoint), None) => vec![(Breakpoint, Sigtrap), (Breakpoint, Fasync)],
        // REFRESH as the handler's last act is what makes a counter step at all.
        (Some(Instructions), None) => vec![(Instructions, Fasync), (Instructions, Sigtrap)],
        (None, Some(delivery)) => vec![(Breakpoint, delivery)],
        (Some(engine @ TrapFlag), Some(delivery @ (Sigtrap | Fasync)))
        | (Some(engine @ (Breakpoint | Instructions)), Some(delivery @ Trap)) => {
            return Err(ChooseError::NoSuchPair { engine, delivery });
        }
        (Some(engine), Some(delivery)) => vec![(engine, delivery)],
    };
    Ok(pairs)
}

/// The re-arm to use, what was seen, and whether the kernel held the event; the re-arm of a pair that needs none is the one without a limit.
fn try_pair(
    machine: &mut dyn Machine,
    engine: Engine,
    delivery: Delivery,
) -> Result<(Rearm, String, Held), Failure> {
    let (rearm, fired) = match (engine, delivery) {
        (Engine::Breakpoint, Delivery::Fasync) => first_working_rearm(machine)?,
        (Engine::Breakpoint, _) => (Rearm::DisableEnable, machine.sigtrap()?),
        (Engine::TrapFlag, _) => (Rearm::DisableEnable, machine.trap_flag()?),
        (Engine::Instructions, _) => (Rearm::Refresh, machine.counter(delivery)?),
    };
    let pair = Pair(engine, delivery);
    let why = match engine {
        // A counter's signals are allowed to skid: that they come is all that was seen.
        Engine::Instructions => format!("{pair}: {} overflows gave a signal", fired.hits),
        _ => format!("{pair}: {} of {} hits gave a signal at their address", fired.hits, fired.hits),
    };
    Ok((rearm, why, fired.held))
}

/// An event that stepping re-arms at each stop is never held: each time it begins anew (kernel-facts 14).
fn about_throttling(held: Held) -> Option<String> {
    (held == Held::Throttled).then(|| {
        "the kernel throttles the counter when it runs freely (kernel.perf_event_max_sample_rate, perf_cpu_time_max_percent); \
         stepping re-arms it at each stop, which throttling does not hold"
            .to_owned()
    })
}

/// The first of [`rearm::ALL`] that loses no hit; the first one's failure if none does.
///
/// # Errors
/// The failure of the first way. A refused event is the same for every way, so it ends the search.
pub fn first_working_rearm(machine: &mut dyn Machine) -> Result<(Rearm, Fired), Failure> {
    let mut first = None;
    for way in rearm::ALL {
        match machine.fasync(way) {
            Ok(fired) => return Ok((way, fired)),
            Err(refused @ Failure::Refused(_)) => return Err(refused),
            Err(failure) => first = first.or(Some(failure)),
        }
    }
    Err(first.unwrap_or(Failure::Missed { hits: 0, of: 0 }))
}

fn about_rearm(machine: &mut dyn Machine, delivery: Delivery, rearm: Rearm) -> Option<String> {
    if delivery != Delivery::Fasync || rearm == Rearm::Refresh {
        return None;
    }
    let kernel = machine.kernel()?;
    let known = REGRESSIONS.iter().find(|known| known.affects(kernel) && known.name.contains("refresh"));
    let reason = known.map_or("REFRESH alone loses hits here", |known| known.what);
    Some(format!("Linux {kernel}: {reason}; re-armed by {} instead", rearm_name(rearm)))
}

fn about_registers(machine: &mut dyn Machine, engine: Engine) -> Option<String> {
    let free = machine.free_registers().ok()?;
    let needed = if engine == Engine::Breakpoint { 2 } else { 1 };
    let short = free <= needed;
    short.then(|| {
        let error =
            OpenError { errno: libc::ENOSPC, wanted: Wanted::Guard, cause: Cause::DebugRegistersTaken };
        let registers = if free == 1 { "register" } else { "registers" };
        format!("{free} debug {registers} free: tracing does without the return guard; {}", error.remedy())
    })
}

/// A re-arm in the words of its ioctls.
#[must_use]
pub const fn rearm_name(rearm: Rearm) -> &'static str {
    match rearm {
        Rearm::Refresh => "REFRESH(1)",
        Rearm::RefreshPeriod => "REFRESH(1) then PERIOD(1)",
        Rearm::KeepAboveZero => "REFRESH(2) then +1 each time",
        Rearm::DisableEnable => "DISABLE then ENABLE",
    }
}

/// `breakpoint/sigtrap`, as `--engine` and `--delivery` spell them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair(pub Engine, pub Delivery);

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let engine = match self.0 {
            Engine::Breakpoint => "breakpoint",
            Engine::TrapFlag => "trap-flag",
            Engine::Instructions => "instructions",
        };
        match self.1 {
            Delivery::Sigtrap => write!(f, "{engine}/sigtrap"),
            Delivery::Fasync => write!(f, "{engine}/fasync"),
            Delivery::Trap if self.0 == Engine::TrapFlag => f.write_str(engine),
            Delivery::Trap => write!(f, "{engine}/trap"),
        }
    }
}

#[cfg(test)]
mod refused_tests;
#[cfg(test)]
mod tests;
