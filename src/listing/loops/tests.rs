//! Executions made up of addresses, one step a row.

use super::execution::Execution;
use super::fold::Fold;
use super::walk;
use crate::address::RuntimeAddr;
use crate::record::marker::Marker;
use crate::record::reader::{CodeBytes, StepEntry};
use crate::record::verdict::Verdict;

/// An execution at these addresses, all in one frame.
fn ran(addresses: &[u64]) -> Execution {
    ran_at(&addresses.iter().map(|address| (*address, 0)).collect::<Vec<_>>())
}

fn ran_at(places: &[(u64, u32)]) -> Execution {
    let mut execution = Execution::default();
    for (i, (address, depth)) in places.iter().enumerate() {
        step(&mut execution, i as u64 + 1, *address, *depth);
    }
    execution
}

fn step(execution: &mut Execution, n: u64, address: u64, depth: u32) {
    execution.step(&StepEntry {
        call: 1,
        n,
        thread: 1,
        depth,
        address: RuntimeAddr(address),
        bytes: CodeBytes::default(),
        differs_from_file: false,
        verdict: Verdict::Exact,
        next: RuntimeAddr(0),
        registers: None,
        stopped_with: None,
        count: None,
        memory: Vec::new(),
        syscall: None,
    });
}

fn folds(execution: &Execution) -> Vec<String> {
    walk::folds(execution).iter().map(Fold::text).collect()
}

/// Iterations of which the first and the last are like those between.
fn between(of: u64, rows: std::ops::Range<u64>) -> String {
    let left_out = of - 2;
    let iterations = if left_out == 1 { "iteration" } else { "iterations" };
    let rows = format!("rows {} to {}", rows.start, rows.end - 1);
    format!("×{of}: {left_out} {iterations} like the one above and the one below, {rows}")
}

#[test]
fn a_loop_left_at_its_end_counts_its_last_iteration() {
    // 1, then 2 3 4 five times, then 5.
    let execution = [vec![1], [2, 3, 4].repeat(5), vec![5]].concat();
    assert_eq!(folds(&ran(&execution)), [between(5, 5..14)]);
}

#[test]
fn a_loop_left_at_its_head_shows_the_last_test() {
    // 2 is the test: 2 3 4 four times, 2 once more, then 9.
    let execution = [vec![1], [2, 3, 4].repeat(4), vec![2, 9]].concat();
    assert_eq!(folds(&ran(&execution)), [between(4, 5..11)]);
}

#[test]
fn two_iterations_are_both_shown() {
    assert!(folds(&ran(&[1, 2, 3, 2, 3, 4])).is_empty());
    assert_eq!(folds(&ran(&[1, 2, 3, 2, 3, 2, 3, 4])), [between(3, 4..6)]);
}

#[test]
fn an_iteration_that_takes_another_path_is_seen() {
    // The fourth iteration goes through 9 instead of 3.
    let execution = [[2, 3, 10].repeat(3), vec![2, 9, 10], [2, 3, 10].repeat(4), vec![11]].concat();
    let head = "×8, 7 by one path, 1 by another";
    assert_eq!(
        folds(&ran(&execution)),
        [
            format!("{head}: 2 iterations like the one above, rows 4 to 9"),
            format!("{head}: 3 iterations like those above, rows 13 to 21")
        ]
    );
}

#[test]
fn iterations_that_alternate_are_folded() {
    let (even, odd) = ([2, 3, 10], [2, 4, 5, 10]);
    let execution = [vec![1], [&even[..], &odd].concat().repeat(5), vec![11]].concat();
    assert_eq!(
        folds(&ran(&execution)),
        ["×10, 5 by one path, 5 by another: 7 iterations like those above, rows 9 to 32"]
    );
    // Five paths in turn.
    let in_turn: Vec<_> = (0..5).flat_map(|path| [2, 20 + path, 10]).collect();
    assert_eq!(
        folds(&ran(&in_turn.repeat(3))),
        ["×15 by 5 paths: 9 iterations like those above, rows 16 to 42"]
    );
}

#[test]
fn an_outer_loop_that_goes_on_by_falling_through_is_folded() {
    // As gcc lays it out: the outer header 40 stands behind the inner loop 20 21, and 30 before it.
    let iteration = [vec![40, 41], [20, 21].repeat(4), vec![29, 30]].concat();
    let execution = [vec![1, 2], iteration.repeat(5), vec![50]].concat();
    assert_eq!(
        folds(&ran(&execution)),
        [between(4, 7..11), between(5, 15..51), between(4, 55..59)],
        "the inner loop of the first iteration, the outer loop, and the inner one of the last"
    );
}

#[test]
fn what_inner_loops_do_differently_is_said() {
    // Outer: 1, inner 2 3 as often as said, 4; five times.
    let execution = |inner: &[usize]| {
        let iterations = inner.iter().map(|times| [vec![1], [2, 3].repeat(*times), vec![4]].concat());
        [vec![0], iterations.collect::<Vec<_>>().concat(), vec![5]].concat()
    };
    let like = "otherwise like the one above and the one below";
    assert_eq!(
        folds(&ran(&execution(&[4, 3, 9, 1, 5]))),
        [
            between(4, 5..9),
            format!("×5, inner rounds 4, 3, 9, 1, 5: 3 iterations {like}, rows 12 to 43"),
            between(5, 47..53)
        ]
    );
    let triangle: Vec<_> = (1..=12).collect();
    let text = &folds(&ran(&execution(&triangle)))[0];
    assert!(text.starts_with("×12, inner rounds 1 to 12: 10 iterations otherwise like"), "{text}");

    // Inner iterations by other paths: 2 3 and 2 9.
    let outer =
        |inner: &[u64]| [vec![1], inner.iter().flat_map(|it| [2, *it, 7]).collect(), vec![4]].concat();
    let same = [outer(&[3, 9]), outer(&[9, 3]), outer(&[3, 3])].concat();
    assert_eq!(folds(&ran(&same)), [format!("×3, inner paths differ: 1 iteration {like}, rows 9 to 16")]);
    let other = [outer(&[3, 9]), outer(&[9]), outer(&[3, 9])].concat();
    let head = "×3, inner rounds 2, 1, 2 by differing paths";
    assert_eq!(folds(&ran(&other)), [format!("{head}: 1 iteration {like}, rows 9 to 13")]);
}

#[test]
fn calls_from_a_loop_belong_to_it() {
    let iteration = [(2, 0), (50, 1), (51, 1), (3, 0)];
    let execution = [vec![(1, 0)], iteration.repeat(4), vec![(4, 0)]].concat();
    assert_eq!(folds(&ran_at(&execution)), [between(4, 6..14)]);
}

#[test]
fn the_end_of_a_call_is_part_of_no_iteration() {
    // Only the rows of a called function are listed.
    let mut execution = ran_at(&[(50, 1), (51, 1)].repeat(5));
    execution.marker(&Marker::Leave { rax: 0, xmm0: [0; 16] });
    assert_eq!(folds(&execution), [between(5, 3..9)]);
}

#[test]
fn recursion_is_no_loop() {
    let execution = [(10, 0), (11, 0), (10, 1), (11, 1), (10, 2), (12, 2), (12, 1), (12, 0)];
    assert!(folds(&ran_at(&execution)).is_empty());
}

#[test]
fn a_handler_is_run_in_a_frame_of_its_own() {
    // Three signals, one right after the other: no loop of the handler's.
    let mut execution = Execution::default();
    for signal in 0..3 {
        execution.marker(&Marker::Signal { number: 10, handler: RuntimeAddr(50) });
        step(&mut execution, 2 * signal + 1, 50, 1);
        step(&mut execution, 2 * signal + 2, 51, 1);
        execution.marker(&Marker::Sigreturn);
    }
    assert!(folds(&execution).is_empty());
    assert!(execution.nesting().loops.is_empty());
}

#[test]
fn an_iteration_with_a_fault_is_seen() {
    let mut execution = ran(&[2, 3].repeat(5));
    execution.marker(&Marker::Fault { signal: 11, address: RuntimeAddr(0) });
    for n in 11..=18 {
        step(&mut execution, n, 3 - n % 2, 0);
    }
    let head = "×9, 8 by one path, 1 by another";
    assert_eq!(
        folds(&execution),
        [
            format!("{head}: 3 iterations like the one above, rows 3 to 8"),
            format!("{head}: 3 iterations like those above, rows 11 to 16")
        ]
    );
}

#[test]
fn numbers_that_rows_leave_out_are_left_out() {
    let mut execution = Execution::default();
    for (i, n) in (100..112).chain(200..212).enumerate() {
        step(&mut execution, n, 2 + i as u64 % 3, 0);
    }
    assert_eq!(folds(&execution), [between(8, 103..209)]);
}
