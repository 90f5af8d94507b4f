//! Signals that came for the program while it believed them blocked, of the numbers that the tracer never really
//! blocks: held back until it unblocks them, as the kernel keeps them pending.

#![allow(unsafe_code, reason = "siginfo_t comes from the kernel by pointer and goes back to it")]

use super::program_signals::mask_bit;
use crate::raw;

/// Signals that can wait; the kernel's own queue ends at RLIMIT_SIGPENDING.
const MOST: usize = 16;
/// Up to this number a signal is pending once, however often it came (signal(7)).
const LAST_STANDARD: i32 = 31;

/// What came, in the order in which it came.
pub(super) struct Held {
    waiting: [Option<libc::siginfo_t>; MOST],
}

impl Held {
    pub(super) const fn new() -> Self {
        Self { waiting: [None; MOST] }
    }

    /// Keeps a signal. A standard one that waits already, or one for which there is no room, is dropped, as the
    /// kernel would.
    pub(super) fn hold(&mut self, info: &libc::siginfo_t) {
        let again = info.si_signo <= LAST_STANDARD && self.signals() & mask_bit(info.si_signo) != 0;
        let free = self.waiting.iter_mut().find(|place| place.is_none());
        if let Some(place) = free.filter(|_| !again) {
            *place = Some(*info);
        }
    }

    /// The mask bits of what waits.
    pub(super) fn signals(&self) -> u64 {
        self.waiting.iter().flatten().fold(0, |mask, info| mask | mask_bit(info.si_signo))
    }

    /// Sends to the calling thread what waits and is not among the `blocked`.
    ///
    /// # Signal safety
    /// rt_tgsigqueueinfo to itself, for which the kernel takes any siginfo.
    pub(super) fn release(&mut self, blocked: u64) {
        let mut kept = [None; MOST];
        let mut places = kept.iter_mut();
        for info in self.waiting.iter_mut().filter_map(Option::take) {
            if blocked & mask_bit(info.si_signo) == 0 {
                send(&info);
            } else if let Some(place) = places.next() {
                *place = Some(info);
            }
        }
        self.waiting = kept;
    }
}

fn send(info: &libc::siginfo_t) {
    let (pid, tid) = (u64::from(raw::getpid()), u64::from(raw::gettid()));
    let info_at = std::ptr::from_ref(info) as u64;
    // SAFETY: a signal to ourselves with a siginfo that the kernel once made.
    let _ =
        unsafe { raw::syscall(libc::SYS_rt_tgsigqueueinfo, [pid, tid, info.si_signo as u64, info_at, 0, 0]) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(signal: i32) -> libc::siginfo_t {
        // SAFETY: all zeros is a siginfo_t of signal 0.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        info.si_signo = signal;
        info
    }

    #[test]
    fn a_standard_signal_waits_once_and_a_real_time_one_as_often_as_it_came() {
        let mut held = Held::new();
        for signal in [libc::SIGTRAP, 60, libc::SIGTRAP, 60] {
            held.hold(&info(signal));
        }
        assert_eq!(held.waiting.iter().flatten().count(), 3);
        assert_eq!(held.signals(), mask_bit(libc::SIGTRAP) | mask_bit(60));
        held.release(mask_bit(libc::SIGTRAP) | mask_bit(60));
        assert_eq!(held.waiting.iter().flatten().count(), 3, "all are still blocked");
    }
}
