//! Signals that a program takes off its queue without a delivery: `sigwaitinfo(2)` and `signalfd(2)`.

use std::fs;

use nix::errno::Errno;
use nix::unistd::Pid;

use super::memory::{self, Pieces};
use super::ptrace::{self, SignalInfo};
use super::signal;
use super::supervisor::Supervisor;
use crate::address::RuntimeAddr;

/// `siginfo_t` and `struct signalfd_siginfo`, in bytes.
const SIZE: u64 = 128;

/// Whether a descriptor of the thread's is a signalfd.
#[must_use]
pub fn is_signalfd(thread: Pid, descriptor: u64) -> bool {
    fs::read_link(format!("/proc/{thread}/fd/{descriptor}"))
        .is_ok_and(|to| to.as_os_str() == "anon_inode:[signalfd]")
}

impl Supervisor {
    /// `rt_sigtimedwait` has ended, with a signal's information at `at`.
    ///
    /// # Errors
    /// ESRCH: the thread was killed.
    pub(super) fn took_signal(&mut self, thread: Pid, at: RuntimeAddr) -> Result<(), Errno> {
        if at.0 != 0
            && ptrace::registers(thread)?.rax as i64 > 0
            && let Some(real) = signal::meaning_of_bytes(memory::read(thread, at)?)
        {
            memory::write(thread, at, &signal::bytes(&self.really(thread, real)))?;
        }
        Ok(())
    }

    /// `read` of a signalfd has ended.
    ///
    /// # Errors
    /// ESRCH: the thread was killed.
    pub(super) fn took_signals(&mut self, thread: Pid, to: &Pieces) -> Result<(), Errno> {
        let read = (ptrace::registers(thread)?.rax as i64).max(0) as u64;
        for number in 0..read / SIZE {
            if let Some(real) = signal::meaning_of_signalfd(to.read(thread, number * SIZE)?) {
                let real = signal::for_signalfd(&self.really(thread, real));
                to.write(thread, number * SIZE, &real)?;
            }
        }
        Ok(())
    }

    /// What a stand-in that was taken off the queue stood for.
    fn really(&mut self, thread: Pid, stand_in: (i32, signal::Meaning)) -> SignalInfo {
        let (number, meaning) = stand_in;
        match meaning {
            signal::Meaning::Overflow(notice, descriptor) => signal::by_async(number, notice, descriptor),
            signal::Meaning::Plain => signal::plain(number),
            signal::Meaning::HeldTrap => self.held_trap(thread).unwrap_or_else(|| signal::plain(number)),
        }
    }
}
