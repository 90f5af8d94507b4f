//! The decision on recorded machines, and on this one.

use super::*;
use crate::event::probe::failure::Held;

/// A machine by its answers; `refresh_dead` is Linux 6.18.
#[derive(Clone)]
struct Recorded {
    refused: Option<Cause>,
    sigtrap: bool,
    ways: Vec<Rearm>,
    trap_flag: bool,
    free: u32,
    probes: u32,
}

const GOOD: Recorded =
    Recorded { refused: None, sigtrap: true, ways: Vec::new(), trap_flag: true, free: 4, probes: 0 };

fn works(yes: bool) -> Result<Fired, Failure> {
    if yes {
        Ok(Fired { hits: 64, codes: vec![], held: Held::Never })
    } else {
        Err(Failure::Missed { hits: 1, of: 64 })
    }
}

impl Recorded {
    fn opened(&mut self, wanted: Wanted) -> Result<(), Failure> {
        self.probes += 1;
        self.refused.map_or(Ok(()), |cause| Err(OpenError { errno: libc::EACCES, wanted, cause }.into()))
    }
}

impl Machine for Recorded {
    fn kernel(&mut self) -> Option<Version> {
        Some(Version::new(6, 18, 44))
    }
    fn free_registers(&mut self) -> Result<u32, OpenError> {
        Ok(self.free)
    }
    fn trigger(&mut self) -> Result<Fired, Failure> {
        self.opened(Wanted::Trigger)?;
        works(true)
    }
    fn sigtrap(&mut self) -> Result<Fired, Failure> {
        self.opened(Wanted::Step)?;
        works(self.sigtrap)
    }
    fn fasync(&mut self, way: Rearm) -> Result<Fired, Failure> {
        self.opened(Wanted::Step)?;
        works(self.ways.contains(&way))
    }
    fn trap_flag(&mut self) -> Result<Fired, Failure> {
        works(self.trap_flag)
    }
    fn counter(&mut self, _: Delivery) -> Result<Fired, Failure> {
        Err(OpenError {
            errno: libc::ENOENT,
            wanted: Wanted::Counter(Counted::Instructions),
            cause: Cause::NoPmu,
        }
        .into())
    }
}

fn chosen(machine: &Recorded, engine: Option<Engine>, delivery: Option<Delivery>) -> (String, Rearm) {
    let choice = choose_on(&mut machine.clone(), engine, delivery).unwrap();
    (Pair(choice.engine, choice.delivery).to_string(), choice.rearm)
}

#[test]
fn auto_takes_the_best_that_works() {
    assert_eq!(chosen(&GOOD, None, None).0, "breakpoint/sigtrap");
    let no_sigtrap = Recorded { sigtrap: false, ways: vec![Rearm::KeepAboveZero], ..GOOD };
    assert_eq!(chosen(&no_sigtrap, None, None), ("breakpoint/fasync".into(), Rearm::KeepAboveZero));
    assert_eq!(chosen(&Recorded { sigtrap: false, ..GOOD }, None, None).0, "trap-flag");
}

#[test]
fn what_was_passed_over_is_said() {
    let choice = choose_on(&mut Recorded { sigtrap: false, ..GOOD }, None, None).unwrap();
    let expected = "breakpoint/sigtrap does not work here: 1 of 64 hits gave a signal";
    assert_eq!(choice.notices.first().map(String::as_str), Some(expected));
}

#[test]
fn the_first_rearm_that_loses_nothing_is_taken_and_the_kernel_bug_named() {
    let machine = Recorded { ways: vec![Rearm::RefreshPeriod, Rearm::DisableEnable], ..GOOD };
    let choice = choose_on(&mut machine.clone(), None, Some(Delivery::Fasync)).unwrap();
    assert_eq!(choice.rearm, Rearm::RefreshPeriod);
    assert!(choice.notices[0].starts_with("Linux 6.18.44: a breakpoint event that its REFRESH limit"));
    let healthy = Recorded { ways: vec![Rearm::Refresh], ..GOOD };
    assert!(choose_on(&mut healthy.clone(), None, Some(Delivery::Fasync)).unwrap().notices.is_empty());
}

#[test]
fn refused_perf_leaves_the_trap_flag_and_patched_code() {
    let mut machine = Recorded { refused: Some(Cause::Paranoid(3)), ..GOOD };
    let choice = choose_on(&mut machine, None, None).unwrap();
    assert_eq!((choice.engine, choice.patch, machine.probes), (Engine::TrapFlag, true, 1));
    assert!(choice.notices[0].contains("perf_event_paranoid is 3"), "{:?}", choice.notices);
    assert!(choice.notices[1].contains("code is patched"), "{:?}", choice.notices);
    let neither = Recorded { trap_flag: false, ..machine };
    assert!(matches!(choose_on(&mut neither.clone(), None, None), Err(ChooseError::Nothing { .. })));
}

#[test]
fn breakpoints_that_cannot_be_moved_leave_patched_code_between_single_steps() {
    let still = Recorded { sigtrap: false, ..GOOD };
    let choice = choose_on(&mut still.clone(), Some(Engine::TrapFlag), None).unwrap();
    assert!(choice.patch && choice.notices[0].contains("code is patched"), "{:?}", choice.notices);
    assert!(!choose_on(&mut GOOD.clone(), Some(Engine::TrapFlag), None).unwrap().patch);
}

#[test]
fn an_engine_that_needs_perf_is_one_error_and_one_probe_where_it_is_refused() {
    let mut machine = Recorded { refused: Some(Cause::Paranoid(3)), ..GOOD };
    let error = choose_on(&mut machine, Some(Engine::Breakpoint), None).unwrap_err();
    let expected = "cannot open the trigger breakpoint: EACCES (13), perf_event_paranoid is 3; \
                    sudo sysctl kernel.perf_event_paranoid=2";
    assert_eq!(error.to_string(), expected);
    assert_eq!(machine.probes, 1);
}

#[test]
fn the_counter_is_never_chosen_unasked_and_says_no_pmu() {
    let error = choose_on(&mut GOOD.clone(), Some(Engine::Instructions), Some(Delivery::Fasync)).unwrap_err();
    assert!(error.to_string().contains("ENOENT (2), no PMU here; use --engine breakpoint"), "{error}");
}

#[test]
fn pairs_that_do_not_exist_are_refused_before_any_probe() {
    for (engine, delivery) in [(Engine::TrapFlag, Delivery::Fasync), (Engine::Breakpoint, Delivery::Trap)] {
        let mut machine = GOOD.clone();
        let error = choose_on(&mut machine, Some(engine), Some(delivery)).unwrap_err();
        assert_eq!((error, machine.probes), (ChooseError::NoSuchPair { engine, delivery }, 0));
    }
}

#[test]
fn a_missing_guard_is_said() {
    let choice = choose_on(&mut Recorded { free: 2, ..GOOD }, None, None).unwrap();
    assert!(choice.notices[0].starts_with("2 debug registers free"), "{:?}", choice.notices);
    assert!(choose_on(&mut Recorded { free: 3, ..GOOD }, None, None).unwrap().notices.is_empty());
}
