//! Calibration finds the tail of a handler from counts, whatever the skid: what it makes of the stops of a program whose
//! handler has a tail of a length that was compiled in.

use overstep::event::probe::reckon::{Line, Stop, one_a_count};

use crate::support::Fixture;

const NEAR: u64 = 300;
/// `mov` and `syscall` behind REFRESH (`fixtures/emulate/tail.h`).
const SHORTEST: u64 = 2;

/// From each stop but the first, which no tail lies before, what was counted and how many nops ran.
fn stops(program: &Fixture, model: &[&str], period: u64) -> Vec<Stop> {
    let run = program.run(model, &[&period.to_string(), "6"]);
    assert_eq!((run.status, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    let number = |line: &str, word: usize| -> u64 { line.split(' ').nth(word).unwrap().parse().unwrap() };
    let places: Vec<_> = run.stdout.lines().map(|line| (number(line, 0), number(line, 3))).collect();
    assert_eq!(places.len(), 6, "{run:?}");
    let between =
        |pair: &[(u64, u64)]| Stop { ran: pair[1].0 - pair[0].0, counted: pair[1].1 - pair[0].1, round: 0 };
    places.windows(2).map(between).collect()
}

#[test]
fn three_tails_are_found_with_any_skid() {
    for nops in [0_u64, 3, 11] {
        let Some(program) = Fixture::build_with("oneshot", &[&format!("-DTAIL_NOPS={nops}")]) else { return };
        for skid in 0..=5_u64 {
            let model = ["--skid", &skid.to_string()];
            let (near, far) = (stops(&program, &model, NEAR), stops(&program, &model, 2 * NEAR));
            let Line { tail, overcount } = one_a_count(&[], &near, &far).expect("a tail");
            assert_eq!((tail, overcount), (SHORTEST + nops, 0), "{nops} nops, skid {skid}");
            // A sweep of periods would take the skid for progress.
            assert_eq!(near[0].ran, NEAR - tail, "{nops} nops, skid {skid}");
        }
    }
}
