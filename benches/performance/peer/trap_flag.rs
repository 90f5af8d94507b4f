//! The least that in-process stepping by the trap flag can cost: a handler that only counts.

use std::sync::atomic::{AtomicU64, Ordering};

use overstep::handler::sigaction;

use crate::clock;
use crate::fixed_stack::{FixedStack, Flags};
use crate::forked::{Board, Sample};
use crate::workload::Workload;

/// ATOMICS: relaxed; handler and reader are one thread.
static STOPS: AtomicU64 = AtomicU64::new(0);

/// # Signal safety
/// One counter. TF stays set in the frame, so the next instruction traps, too.
extern "C" fn count(_: i32, _: *mut libc::siginfo_t, _: *mut libc::ucontext_t) {
    STOPS.store(STOPS.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

pub fn run(board: &Board, workload: &Workload, stack: &FixedStack) {
    sigaction::install(libc::SIGTRAP, count).expect("SIGTRAP can be handled");
    let start = clock::of_this_process();
    stack.run(workload, Flags::TrapFlag);
    let nanoseconds = clock::of_this_process() - start;
    let steps = STOPS.load(Ordering::Relaxed);
    assert!(steps > 0, "{}: the trap flag traps nothing here", workload.name);
    board.set(Sample { nanoseconds, steps });
}
