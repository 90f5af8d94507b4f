//! Each option of the model shows in what a program can see, by exactly as much as was asked.

use crate::support::{Fixture, assert_prints, emulate, run};

const PERIOD: u64 = 1000;
const ROUNDS: u64 = 1000;
/// Instructions of `freerun` outside its handler, and in it for each signal.
const PROGRAM: u64 = 12 * ROUNDS - 2 + 4;
const HANDLER: u64 = 12;

/// What `freerun` printed.
struct FreeRun {
    signals: u64,
    count: u64,
    /// Place in the round, and `si_code`.
    stops: Vec<(u64, i32)>,
}

fn free_run(model: &[&str], arguments: &[&str]) -> Option<FreeRun> {
    let program = Fixture::build("freerun")?;
    let mut all = vec!["1000", "1000"];
    all.extend(arguments);
    let run = program.run(model, &all);
    assert_eq!((run.status, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    let mut lines = run.stdout.lines();
    let head: Vec<&str> = lines.next()?.split(' ').collect();
    let stops = lines.map(|line| {
        let (at, code) = line.split_once(' ').unwrap();
        (at.parse().unwrap_or_else(|_| panic!("{line}: {}", run.stdout)), code.parse().unwrap())
    });
    Some(FreeRun {
        signals: head[1].parse().unwrap(),
        count: head[3].parse().unwrap(),
        stops: stops.collect(),
    })
}

const POLL_IN: i32 = 1;
const POLL_HUP: i32 = 6;

#[test]
fn an_exact_pmu_signals_every_period_and_counts_every_instruction() {
    let Some(exact) = free_run(&[], &[]) else { return };
    assert_eq!(exact.count, PROGRAM + HANDLER * exact.signals);
    assert_eq!(exact.signals, exact.count / PERIOD);
    assert!(exact.stops.iter().all(|&(_, code)| code == POLL_IN), "{:?}", exact.stops);
}

#[test]
fn a_skid_changes_places_and_not_the_count() {
    let (Some(exact), Some(skidding)) = (free_run(&[], &[]), free_run(&["--skid", "3"], &[])) else { return };
    assert_eq!((exact.signals, exact.count), (skidding.signals, skidding.count));
    assert!(exact.stops.iter().zip(&skidding.stops).all(|(a, b)| a != b), "{:?}", skidding.stops);
}

#[test]
fn overcounts_are_one_in_as_many_as_asked() {
    let Some(over) = free_run(&["--overcount", "100"], &[]) else { return };
    let retired = PROGRAM + HANDLER * over.signals;
    assert_eq!(over.count, retired + retired / 100);
}

#[test]
fn returns_from_handlers_can_count() {
    let Some(iret) = free_run(&["--iret-counts"], &[]) else { return };
    assert_eq!(iret.count, PROGRAM + (HANDLER + 1) * iret.signals);
}

#[test]
fn lost_signals_leave_the_count_alone() {
    let Some(losing) = free_run(&["--lose", "0.5"], &[]) else { return };
    assert_eq!(losing.count, PROGRAM + HANDLER * losing.signals);
    let overflows = losing.count / PERIOD;
    assert!(losing.signals > 0 && losing.signals < overflows, "{} of {overflows}", losing.signals);
    let all = free_run(&["--lose", "1"], &[]).unwrap();
    assert_eq!((all.signals, all.count), (0, PROGRAM));
}

#[test]
fn fused_pairs_are_never_parted() {
    /// The place between `cmp` and `jle`.
    const BETWEEN: u64 = 11;
    // An odd skid sequence reaches every place of the round in some run.
    let between = |model: &[&str]| {
        let runs = ["1", "2", "3", "4", "5"].map(|seed| {
            let mut all = vec!["--skid", "uniform:0-11", "--seed", seed];
            all.extend(model);
            free_run(&all, &[]).map_or(0, |run| run.stops.iter().filter(|it| it.0 == BETWEEN).count())
        });
        runs.iter().sum::<usize>()
    };
    assert_eq!(between(&["--fuse"]), 0);
    if Fixture::build("freerun").is_some() {
        assert!(between(&[]) > 0, "no stop was there to be moved");
    }
}

#[test]
fn a_throttled_event_stops_counting_for_the_rest_of_its_tick() {
    let Some(throttled) = free_run(&["--throttle", "2"], &[]) else { return };
    // Two ticks of 10,000 instructions are entered.
    assert_eq!((throttled.signals, throttled.count), (4, 4 * PERIOD));
}

#[test]
fn the_limit_says_hup_and_with_the_bug_it_does_not() {
    let (Some(right), Some(wrong)) = (free_run(&[], &["limited"]), free_run(&["--hup-bug"], &["limited"]))
    else {
        return;
    };
    let codes = |run: &FreeRun| run.stops.iter().map(|it| it.1).collect::<Vec<_>>();
    assert_eq!(codes(&right), [POLL_IN, POLL_IN, POLL_HUP]);
    assert_eq!(codes(&wrong), [POLL_IN, POLL_IN, POLL_IN]);
    assert_eq!((right.count, wrong.count), (3 * PERIOD, 3 * PERIOD));
}

#[test]
fn periods_below_the_smallest_are_refused() {
    assert_prints("freerun", &["--min-period", "1001"], &["1000", "10"], "open EINVAL\n");
    let Some(program) = Fixture::build("freerun") else { return };
    let run = program.run(&["--min-period", "1000"], &["1000", "10"]);
    assert!(run.stdout.starts_with("signals 0 "), "{run:?}");
}

#[test]
fn wrong_models_are_usage_errors() {
    let wrong = [
        &["--skid", "uniform:9-2"][..],
        &["--skid", "-1"],
        &["--lose", "1.5"],
        &["--overcount", "0"],
        &["--throttle", "0"],
        &["--multiplex", "0"],
        &["--multiplex", "10000"],
        &["--lose", "1", "--hup-bug"],
        &["--lose", "1", "--skid", "3"],
    ];
    for model in wrong {
        let refused = run(emulate(model).arg("true"));
        assert_eq!((refused.status, refused.stdout.as_str()), (Some(125), ""), "{model:?}: {refused:?}");
        assert!(refused.stderr.contains("error:") || refused.stderr.contains("overstep:"), "{refused:?}");
    }
}
