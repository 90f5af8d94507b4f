//! The question that overstep began with: does an overflow's signal arrive before another instruction runs? Counts give
//! the same answer whether it does or not (`docs/synchronous-delivery.md`).

use std::process::Command;

use crate::support::{Fixture, assert_prints, run};

const PERIOD: u64 = 1000;
const ROUNDS: u64 = 250;
/// Instructions of a round, and of those that end the measurement (`fixtures/emulate/synchronous.c`).
const ROUND: u64 = 101;
const END: u64 = 3;
const PAYLOAD: u64 = ROUND * ROUNDS + END;
/// Of the handler: `mov` and `syscall` behind REFRESH.
const TAIL: u64 = 2;

/// Overflows of a payload to which each but the first adds a tail.
const fn overflows(tail: u64) -> u64 {
    (PAYLOAD - tail) / (PERIOD - tail)
}

/// What every model has to print before the places: counts, from which no skid can be told.
fn counts(tail: u64) -> String {
    let overflows = overflows(tail);
    format!(
        "plain {PAYLOAD}\n\
         counted {} overflows {overflows} tail {tail} payload {PAYLOAD}\n\
         tails agree {overflows} of {overflows}\n",
        PAYLOAD + tail * overflows
    )
}

fn arguments() -> [String; 2] {
    [PERIOD.to_string(), ROUNDS.to_string()]
}

#[track_caller]
fn assert_found(model: &[&str], tail: u64, off: u64) {
    let [period, rounds] = &arguments();
    let overflows = overflows(tail);
    let expected = format!("{}rip off by {off}: {overflows} of {overflows}\n", counts(tail));
    assert_prints("synchronous", model, &[period, rounds], &expected);
}

#[test]
fn without_skid_counts_agree_and_every_rip_is_the_expected_one() {
    assert_found(&[], TAIL, 0);
}

#[test]
fn with_a_skid_of_three_counts_still_agree_and_every_rip_is_off_by_three() {
    assert_found(&["--skid", "3"], TAIL, 3);
}

#[test]
fn the_tail_comes_from_counts_when_the_return_counts_too() {
    assert_found(&["--skid", "2", "--iret-counts"], TAIL + 1, 2);
}

/// How many stops were off, by distance.
fn places(stdout: &str) -> Vec<(u64, u64)> {
    let lines = stdout.lines().filter_map(|line| line.strip_prefix("rip off by "));
    let parsed = lines.map(|line| {
        let (off, number) = line.split_once(": ").expect(line);
        (off.parse().expect(line), number.split(' ').next().unwrap().parse().expect(line))
    });
    parsed.collect()
}

#[test]
fn a_skid_that_varies_shows_in_places_and_in_no_count() {
    let Some(program) = Fixture::build("synchronous") else { return };
    let [period, rounds] = &arguments();
    let ran = program.run(&["--skid", "uniform:0-5"], &[period, rounds]);
    assert!(ran.stdout.starts_with(&counts(TAIL)), "{ran:?}");
    let places = places(&ran.stdout);
    assert!(places.len() > 1 && places.iter().all(|&(off, _)| off <= 5), "{ran:?}");
    assert_eq!(places.iter().map(|it| it.1).sum::<u64>(), overflows(TAIL), "{ran:?}");
}

/// The last overflow's skid reaches the end of the payload, and the DISABLE there is where it ends.
#[test]
fn a_skid_ends_at_the_next_system_call() {
    const SKID: u64 = 400;
    let (number, last) = (overflows(TAIL), PAYLOAD - TAIL - (PERIOD - TAIL) * overflows(TAIL));
    let [period, rounds] = &arguments();
    let expected = format!(
        "plain {PAYLOAD}\n\
         counted {} overflows {number} tail {TAIL} payload {PAYLOAD}\n\
         tails agree {number} of {number}\n\
         rip off by {last}: 1 of {number}\n\
         rip off by {SKID}: {} of {number}\n",
        PAYLOAD + TAIL * (number - 1),
        number - 1
    );
    assert_prints("synchronous", &["--skid", "400"], &[period, rounds], &expected);
}

/// Counts agree again, and are wrong: what is counted too much shows only beside the places.
#[test]
fn overcounting_shows_at_the_stops() {
    const EVERY: u64 = 5000;
    let Some(program) = Fixture::build("synchronous") else { return };
    let [period, rounds] = &arguments();
    let ran = program.run(&["--overcount", &EVERY.to_string()], &[period, rounds]);
    let wrong = PAYLOAD + PAYLOAD / EVERY;
    assert!(ran.stdout.starts_with(&format!("plain {wrong}\n")), "{ran:?}");
    assert!(ran.stdout.contains(&format!(" payload {wrong}\n")), "{ran:?}");
    let agree = ran.stdout.lines().find_map(|line| line.strip_prefix("tails agree ")).expect("tails");
    let agree: u64 = agree.split(' ').next().unwrap().parse().expect("a number");
    // Those before the first instruction too many.
    assert_eq!(agree, EVERY / PERIOD - 1, "{ran:?}");
}

/// The program relies on POLL_HUP, so it must notice where it is missing.
#[test]
fn a_stop_that_is_no_hup_ends_the_program() {
    let Some(program) = Fixture::build("synchronous") else { return };
    let [period, rounds] = &arguments();
    let ran = program.run(&["--hup-bug"], &[period, rounds]);
    assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.as_str()), (Some(3), "", "stop 1: si_code 1\n"));
}

/// What a real PMU answers is printed; what has to hold is that the program could tell.
#[test]
fn on_the_real_kernel() {
    let Some(program) = Fixture::build("synchronous") else { return };
    let ran = run(Command::new(&program.path).args(arguments()));
    if ran.stderr.starts_with("perf_event_open: ") {
        println!("SKIP on_the_real_kernel: no instruction counter here: {}", ran.stderr.trim_end());
        return;
    }
    println!("{}", ran.stdout);
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let counted = ran.stdout.lines().nth(1).expect("counts");
    let overflows: u64 = counted.split(' ').nth(3).and_then(|it| it.parse().ok()).expect(counted);
    assert_eq!(places(&ran.stdout).iter().map(|it| it.1).sum::<u64>(), overflows, "{ran:?}");
}
