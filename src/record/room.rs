//! How a thread of the traced process asks for a longer trace file and waits for it.

#![allow(unsafe_code, reason = "futex(2) has no wrapper that is allowed in a signal handler")]

use std::sync::atomic::{AtomicU32, Ordering};

use super::control::Progress;
use crate::raw::{Errno, syscall};

/// There is no space for this record, and there will be none: tracing ends here. The errno is in
/// [`Progress::no_room`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the trace cannot grow any further; free disk space or raise `ulimit -f`, or trace less with --max-steps"
)]
pub struct NoRoom;

/// The parent is woken when less than this is left ahead, in bytes: about four step chunks.
const AHEAD: u64 = 256 << 10;
/// One wait, in nanoseconds.
const SLICE: i64 = 50_000_000;
/// Waits until the parent is given up: 5 seconds.
const SLICES: u32 = 100;
/// Wake-ups that were not for us, until the parent is given up all the same.
const WAKES: u32 = 100_000;

/// Returns once the first `end` bytes of the trace may be touched.
///
/// # Errors
/// [`NoRoom`] when the parent says so, or says nothing for five seconds (it was killed).
///
/// # Signal safety
/// Atomic loads and futex(2). Blocks for up to five seconds, at the end of the room only.
pub(super) fn wait_for(progress: &Progress, end: u64) -> Result<(), NoRoom> {
    // ATOMICS: acquire pairs with the parent's release in `growth`: the file is that long before room says so.
    let room = progress.room.load(Ordering::Acquire);
    if room < end.saturating_add(AHEAD) {
        ask(&progress.want);
    }
    let mut slices = 0;
    let mut wakes = 0;
    loop {
        let want = progress.want.load(Ordering::Relaxed);
        // SeqCst: `Growth::finish` closes the room and then reads `used`. Whoever still sees the old room here
        // has its share of `used` counted there.
        if end <= progress.room.load(Ordering::SeqCst) {
            return Ok(());
        }
        if progress.no_room.load(Ordering::Relaxed) != 0 {
            return Err(NoRoom);
        }
        match sleep(&progress.want, want) {
            Err(Errno(libc::ETIMEDOUT)) => slices += 1,
            _ => wakes += 1,
        }
        if slices >= SLICES || wakes >= WAKES {
            give_up(progress, libc::ETIMEDOUT);
            return Err(NoRoom);
        }
    }
}

/// Records why there is no more room, unless somebody did before.
///
/// # Signal safety
/// One atomic operation.
pub(super) fn give_up(progress: &Progress, errno: i32) {
    let _earlier = progress.no_room.compare_exchange(0, errno as u32, Ordering::Relaxed, Ordering::Relaxed);
}

/// Wakes whoever waits on `word`, after changing it.
///
/// # Signal safety
/// futex(2).
pub(super) fn ask(word: &AtomicU32) {
    word.fetch_add(1, Ordering::Release);
    // SAFETY:
    // - FUTEX_WAKE reads no memory, it only looks up the address of a live word;
    // - not FUTEX_PRIVATE: parent and traced process share the page, not the address space.
    let _woken = unsafe {
        syscall(libc::SYS_futex, [word.as_ptr() as u64, libc::FUTEX_WAKE as u64, i32::MAX as u64, 0, 0, 0])
    };
}

/// Sleeps for one slice, or until `word` is no longer `value` and somebody says so.
///
/// # Signal safety
/// futex(2).
pub(super) fn sleep(word: &AtomicU32, value: u32) -> Result<u64, Errno> {
    let timeout = libc::timespec { tv_sec: 0, tv_nsec: SLICE };
    // SAFETY:
    // - the word is live and aligned, the timeout is a live timespec for the length of the call.
    unsafe {
        syscall(
            libc::SYS_futex,
            [
                word.as_ptr() as u64,
                libc::FUTEX_WAIT as u64,
                u64::from(value),
                &raw const timeout as u64,
                0,
                0,
            ],
        )
    }
}
