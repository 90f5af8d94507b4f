//! The probes on this machine. Where perf is refused they say so and check the refusal instead.

use std::time::Instant;

use super::failure::{Failure, Fired, Held};
use super::{breakpoint, child, counter, limit, registers, trap_flag, trigger};
use crate::event::choose::{self, ChooseError};
use crate::event::kernel::{REGRESSIONS, Version};
use crate::event::rearm;
use crate::record::control::{Delivery, Rearm};
use crate::record::counted::Counted;

/// The result, or `None` after a line that says why this machine cannot tell.
fn tell<T>(name: &str, result: Result<T, Failure>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(Failure::Refused(error)) => {
            println!("SKIP {name}: {error}");
            None
        }
        Err(failure) => panic!("{name}: {failure}"),
    }
}

#[test]
fn sigtrap_hits_64_of_64_addresses() {
    if let Some(fired) = tell("sigtrap", breakpoint::sigtrap()) {
        assert_eq!(fired, Fired { hits: 64, codes: vec![("TRAP_PERF", 64)], held: Held::Never });
    }
}

#[test]
fn some_rearm_hits_64_of_64_addresses() {
    let tried: Vec<_> = rearm::ALL.into_iter().map(|way| (way, breakpoint::fasync(way))).collect();
    if let Some((_, Err(Failure::Refused(error)))) = tried.first() {
        return println!("SKIP fasync: {error}");
    }
    assert!(tried.iter().any(|(_, result)| result.is_ok()), "{tried:?}");
    let above_zero = tried.iter().find(|(way, _)| *way == Rearm::KeepAboveZero).map(|(_, result)| result);
    assert_eq!(above_zero, Some(&Ok(Fired { hits: 64, codes: vec![("POLL_IN", 64)], held: Held::Never })));
}

#[test]
fn a_limit_of_five_ends_with_poll_hup_or_the_kernel_is_known_to_lose_it() {
    match limit::hangs_up() {
        Ok(fired) => assert_eq!(fired.codes, [("POLL_IN", 4), ("POLL_HUP", 1)]),
        Err(Failure::Refused(error)) => println!("SKIP limit: {error}"),
        Err(failure) => {
            let kernel = Version::running().unwrap();
            assert!(REGRESSIONS[0].affects(kernel), "Linux {kernel}: {failure}");
        }
    }
}

#[test]
fn trap_flag_steps_each_instruction() {
    let fired = trap_flag::steps().unwrap();
    assert_eq!(fired.hits, 32);
}

#[test]
fn trigger_fires_in_a_thread_that_comes_later() {
    if let Some(fired) = tell("trigger", trigger::fires_in_new_threads()) {
        assert_eq!(fired, Fired { hits: 2, codes: vec![("TRAP_PERF", 2)], held: Held::Never });
    }
}

#[test]
fn counter_works_or_says_why_not() {
    match counter::overflows(Counted::Instructions, Delivery::Fasync) {
        Ok(fired) => assert!((30..=60).contains(&fired.hits), "{fired:?}"),
        Err(failure) => println!("SKIP counter: {failure}"),
    }
}

#[test]
fn registers_are_all_free_again_after_counting() {
    match (registers::free(), registers::free()) {
        (Ok(first), Ok(second)) => assert_eq!((first, second), (4, 4)),
        (first, _) => println!("SKIP registers: {first:?}"),
    }
}

#[test]
fn a_probe_that_dies_is_reported() {
    let died = child::run(|_| std::process::abort(), |_| Ok(()));
    assert_eq!(died, Err(Failure::Killed { signal: libc::SIGABRT }));
}

#[test]
fn a_probe_that_hangs_is_ended() {
    let start = Instant::now();
    let hung = child::run(
        |_| loop {
            std::hint::spin_loop();
        },
        |_| Ok(()),
    );
    assert!(matches!(hung, Err(Failure::TimedOut { .. })), "{hung:?}");
    assert!(start.elapsed() < 2 * child::PATIENCE);
}

#[test]
fn the_program_sees_no_child_and_keeps_its_mask() {
    let before = nix::sys::signal::SigSet::thread_get_mask().unwrap();
    child::run(|_| (), |_| Ok(())).unwrap();
    assert_eq!(nix::sys::signal::SigSet::thread_get_mask().unwrap(), before);
}

#[test]
fn choosing_is_quick_and_gives_a_reason() {
    match choose::choose(None, None) {
        Ok(choice) => assert!(choice.why.contains("64 of 64"), "{choice:?}"),
        Err(ChooseError::Refused(error)) => println!("SKIP choose: {error}"),
        Err(error) => panic!("{error}"),
    }
}
