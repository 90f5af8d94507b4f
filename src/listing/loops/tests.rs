//! Executions made up of addresses, one step a row.

use super::finder::Finder;
use super::folds::Fold;
use crate::address::RuntimeAddr;
use crate::record::reader::{CodeBytes, StepEntry};
use crate::record::verdict::Verdict;

/// The folds of an execution at these addresses, all in one frame.
fn folds(addresses: &[u64]) -> Vec<Fold> {
    folds_at(&addresses.iter().map(|address| (*address, 0)).collect::<Vec<_>>())
}

fn folds_at(places: &[(u64, u32)]) -> Vec<Fold> {
    let mut finder = Finder::default();
    for (i, (address, depth)) in places.iter().enumerate() {
        let next = places.get(i + 1).map_or(0, |place| place.0);
        finder.step(&StepEntry {
            call: 1,
            n: i as u64 + 1,
            thread: 1,
            depth: *depth,
            address: RuntimeAddr(*address),
            bytes: CodeBytes::default(),
            differs_from_file: false,
            verdict: Verdict::Exact,
            next: RuntimeAddr(next),
            registers: None,
            stopped_with: None,
            count: None,
            memory: Vec::new(),
            syscall: None,
        });
    }
    finder.finish()
}

fn fold(hidden: std::ops::Range<u64>, left_out: u64) -> Fold {
    Fold { hidden, left_out, of: left_out + 2 }
}

#[test]
fn a_loop_left_at_its_end_counts_its_last_iteration() {
    // 1, then 2 3 4 five times, then 5.
    let execution = [vec![1], [2, 3, 4].repeat(5), vec![5]].concat();
    assert_eq!(folds(&execution), [fold(5..14, 3)]);
}

#[test]
fn a_loop_left_at_its_head_shows_the_last_test() {
    // 2 is the test: 2 3 4 four times, 2 once more, then 9.
    let execution = [vec![1], [2, 3, 4].repeat(4), vec![2, 9]].concat();
    assert_eq!(folds(&execution), [fold(5..11, 2)]);
}

#[test]
fn two_iterations_are_both_shown() {
    assert_eq!(folds(&[1, 2, 3, 2, 3, 4]), []);
    assert_eq!(folds(&[1, 2, 3, 2, 3, 2, 3, 4]), [fold(4..6, 1)]);
}

#[test]
fn an_iteration_that_takes_another_path_is_seen() {
    // The fourth iteration goes through 9 instead of 3.
    let execution = [[2, 3, 10].repeat(3), vec![2, 9, 10], [2, 3, 10].repeat(4), vec![11]].concat();
    assert_eq!(folds(&execution), [fold(4..7, 1), fold(16..22, 2)]);
}

#[test]
fn inner_loops_fold_in_the_iterations_that_are_shown() {
    // Outer: 1, inner 2 3 as often as said, 4; five times.
    let inner = [4_usize, 3, 9, 1, 5];
    let mut execution = vec![0];
    for times in inner {
        execution.push(1);
        execution.extend([2, 3].repeat(times));
        execution.push(4);
    }
    execution.push(5);
    // The fourth runs its inner loop once, which is no loop: another shape. The first three are alike.
    assert_eq!(folds(&execution), [fold(5..9, 2), fold(12..20, 1), fold(23..37, 7), fold(47..53, 3)]);
}

#[test]
fn calls_from_a_loop_belong_to_it() {
    let iteration = [(2, 0), (50, 1), (51, 1), (3, 0)];
    let execution = [vec![(1, 0)], iteration.repeat(4), vec![(4, 0)]].concat();
    assert_eq!(folds_at(&execution), [fold(6..14, 2)]);
}

#[test]
fn recursion_is_no_loop() {
    let execution = [(10, 0), (11, 0), (10, 1), (11, 1), (10, 2), (12, 2), (12, 1), (12, 0)];
    assert_eq!(folds_at(&execution), []);
}
