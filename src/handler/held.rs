//! Signals of the tracer's numbers that somebody has sent the program, and that it believes to block: they wait here,
//! since the kernel has delivered them already.

#![allow(unsafe_code, reason = "a siginfo_t is copied as the kernel passed it")]

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use super::process::Process;
use super::program_signals::mask_bit;
use super::thread::Thread;
use crate::raw;

/// Signals that can wait at once; RLIMIT_SIGPENDING is larger, but these numbers are rare.
const MOST: usize = 64;
/// `siginfo_t` in words.
const WORDS: usize = size_of::<libc::siginfo_t>() / 8;
/// Standard signals are not queued: one of a kind waits (signal(7)).
const FIRST_QUEUED: i32 = 32;

const FREE: u32 = 0;
const BUSY: u32 = 1;
const WAITING: u32 = 2;

/// A `siginfo_t` as the kernel passes it.
pub type Info = [u64; WORDS];

/// One of them.
struct Held {
    /// ATOMICS: FREE or WAITING → BUSY by compare-exchange (acquire), back by release.
    state: AtomicU32,
    /// The thread it was sent to; 0 for the process.
    tid: AtomicU32,
    signal: AtomicI32,
    info: UnsafeCell<Info>,
}

// SAFETY:
// - `info` is touched only by who has made the state BUSY.
unsafe impl Sync for Held {}

/// All of them. All zeros is none.
pub(super) struct HeldSignals {
    places: [Held; MOST],
}

impl HeldSignals {
    /// Keeps a signal. Without room it is lost, as behind RLIMIT_SIGPENDING.
    fn keep(&self, tid: u32, signal: i32, info: &Info) {
        if signal < FIRST_QUEUED && self.waiting(tid).any(|held| held.is(signal)) {
            return;
        }
        if let Some(held) = self.places.iter().find(|held| held.claim(FREE)) {
            held.tid.store(tid, Ordering::Relaxed);
            held.signal.store(signal, Ordering::Relaxed);
            // SAFETY: claimed.
            unsafe { held.info.get().write(*info) };
            held.state.store(WAITING, Ordering::Release);
        }
    }

    /// Takes one of `set` that waits for the thread or for the process.
    fn take(&self, tid: u32, set: u64) -> Option<(i32, Info)> {
        let held = self.waiting(tid).find(|held| set & held.bit() != 0 && held.claim(WAITING))?;
        let signal = held.signal.load(Ordering::Relaxed);
        // SAFETY: claimed.
        let info = unsafe { held.info.get().read() };
        held.state.store(FREE, Ordering::Release);
        Some((signal, info))
    }

    fn waiting(&self, tid: u32) -> impl Iterator<Item = &Held> {
        self.places.iter().filter(move |held| {
            held.state.load(Ordering::Acquire) == WAITING
                && matches!(held.tid.load(Ordering::Relaxed), owner if owner == 0 || owner == tid)
        })
    }
}

impl Held {
    fn claim(&self, from: u32) -> bool {
        self.state.compare_exchange(from, BUSY, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    fn is(&self, signal: i32) -> bool {
        self.signal.load(Ordering::Relaxed) == signal
    }

    fn bit(&self) -> u64 {
        mask_bit(self.signal.load(Ordering::Relaxed))
    }
}

impl Process {
    /// Keeps a signal that the program's thread `tid` believes to block.
    ///
    /// # Signal safety
    /// Atomics.
    pub(super) fn hold(&self, tid: u32, signal: i32, info: *const libc::siginfo_t) {
        // SAFETY: the kernel passes a whole siginfo_t.
        let (code, words) = unsafe { ((*info).si_code, info.cast::<Info>().read()) };
        self.held.keep(if code == libc::SI_TKILL { tid } else { 0 }, signal, &words);
    }

    /// What the calling thread believes to block of the tracer's signals is now `blocked`: what waited for it and is not
    /// blocked any more is sent again. Whether there was any.
    ///
    /// # Signal safety
    /// Atomics and rt_tgsigqueueinfo.
    pub(super) fn believe(&self, thread: &mut Thread, tid: u32, blocked: u64) -> bool {
        thread.blocked_by_program = blocked;
        let mut any = false;
        while let Some((signal, info)) = self.held.take(tid, self.signals.owned() & !blocked) {
            any |= send_to_itself(tid, signal, &info);
        }
        any
    }

    /// The calling thread waits with `mask` for the length of a system call (ppoll(2) and its kin): what it believed
    /// before, for [`Self::end_wait`], and whether a signal has come by that.
    pub fn begin_wait(&self, mask: u64) -> Option<(u64, bool)> {
        let tid = raw::gettid();
        let thread = self.threads.find(tid)?;
        let before = thread.blocked_by_program;
        let come = self.believe(thread, tid, mask & self.signals.owned());
        thread.waiting = true;
        Some((before, come))
    }

    /// It has come back.
    pub fn end_wait(&self, believed: u64) {
        let tid = raw::gettid();
        if let Some(thread) = self.threads.find(tid) {
            thread.waiting = false;
            self.believe(thread, tid, believed);
        }
    }

    /// Takes a signal of `set` that waits for the calling thread, for sigwaitinfo(2) and its kin.
    pub fn take_held(&self, set: u64) -> Option<(i32, Info)> {
        self.held.take(raw::gettid(), set)
    }

    /// Which of the tracer's signals wait for the calling thread.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.held.waiting(raw::gettid()).fold(0, |set, held| set | held.bit())
    }
}

/// Sends the calling thread a signal with these facts: whether the kernel takes it.
///
/// # Signal safety
/// getpid and rt_tgsigqueueinfo.
pub(super) fn send_to_itself(tid: u32, signal: i32, info: &Info) -> bool {
    let arguments = [u64::from(raw::getpid()), tid.into(), signal as u64, info.as_ptr() as u64, 0, 0];
    // SAFETY: a signal to ourselves, with a whole siginfo_t.
    unsafe { raw::syscall(libc::SYS_rt_tgsigqueueinfo, arguments) }.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_waits_for_its_thread_and_a_standard_one_once() {
        let place = || Held {
            state: AtomicU32::new(FREE),
            tid: AtomicU32::new(0),
            signal: AtomicI32::new(0),
            info: UnsafeCell::new([0; WORDS]),
        };
        let held = HeldSignals { places: std::array::from_fn(|_| place()) };
        let info = |word| {
            let mut info = [0; WORDS];
            info[3] = word;
            info
        };
        held.keep(7, libc::SIGTRAP, &info(1));
        held.keep(7, libc::SIGTRAP, &info(2));
        held.keep(0, 50, &info(3));
        held.keep(0, 50, &info(4));
        assert_eq!(held.take(8, mask_bit(libc::SIGTRAP)), None, "sent to thread 7");
        assert_eq!(held.take(7, u64::MAX), Some((libc::SIGTRAP, info(1))));
        assert_eq!(held.take(8, u64::MAX), Some((50, info(3))), "sent to the process");
        assert_eq!(held.take(7, mask_bit(libc::SIGTRAP)), None);
        assert_eq!(held.take(7, u64::MAX), Some((50, info(4))));
        assert_eq!(held.take(7, u64::MAX), None);
    }
}
