//! The bare limit: the same event and delivery, and a handler that knows where to go from a list and does nothing
//! else. What overstep adds to it is its own.

#![allow(unsafe_code, reason = "a signal handler reaches its state through a pointer")]

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use overstep::address::RuntimeAddr;
use overstep::event::attr::{self, Attr};
use overstep::event::error::Wanted;
use overstep::event::{ioctl, open};
use overstep::handler::sigaction;
use overstep::record::control::Delivery;

use crate::clock;
use crate::fixed_stack::{FixedStack, Flags};
use crate::forked::{Board, Sample};
use crate::workload::Workload;

struct Replay {
    event: OwnedFd,
    attr: Attr,
    path: &'static [AtomicU64],
    stops: usize,
}

/// ATOMICS: stored before the event is enabled; the handler runs in the same thread.
static REPLAY: AtomicPtr<Replay> = AtomicPtr::new(std::ptr::null_mut());

/// # Signal safety
/// One load, one system call.
extern "C" fn move_on(_: i32, _: *mut libc::siginfo_t, _: *mut libc::ucontext_t) {
    // SAFETY: null or what `run` leaked; only this handler uses it while the event is enabled.
    let Some(replay) = (unsafe { REPLAY.load(Ordering::Relaxed).as_mut() }) else { return };
    replay.stops += 1;
    match replay.path.get(replay.stops) {
        Some(next) => attr::point_at(&mut replay.attr, RuntimeAddr(next.load(Ordering::Relaxed))),
        None => replay.attr.set_disabled(1),
    }
    let _moved = ioctl::modify(replay.event.as_raw_fd(), &replay.attr);
}

/// Follows the board's path, which a traced run has left there.
pub fn run(board: &'static Board, workload: &Workload, stack: &FixedStack) {
    let path = board.path();
    let first = path.first().expect("a recorded path").load(Ordering::Relaxed);
    sigaction::install(libc::SIGTRAP, move_on).expect("SIGTRAP can be handled");
    let attr = attr::step(RuntimeAddr(first), Delivery::Sigtrap, 0);
    let event = open::open(&attr, Wanted::Step, 0).unwrap_or_else(|error| panic!("{error}"));
    let replay = Box::into_raw(Box::new(Replay { event, attr, path, stops: 0 }));
    REPLAY.store(replay, Ordering::Relaxed);

    let start = clock::of_this_process();
    stack.run(workload, Flags::AsTheyAre);
    let nanoseconds = clock::of_this_process() - start;

    // SAFETY: the event is disabled, or will not fire again: the workload is over.
    let stops = unsafe { (*replay).stops };
    assert_eq!(stops, path.len(), "{}: this run took another path than the recorded one", workload.name);
    board.set(Sample { nanoseconds, steps: stops as u64 });
}
