//! System calls of ours made by a program's thread, in the place of the one it made.

use nix::errno::Errno;
use nix::unistd::Pid;

use super::ptrace::{self, Registers, Resume, SignalMask};
use super::reports::{Report, Reports};

/// The length of `syscall`, in bytes.
const SYSCALL_LENGTH: u64 = 2;

/// The largest errno (Linux `MAX_ERRNO`).
const MAX_ERRNO: i64 = 4095;

/// A thread that is held at the entry of a system call and makes others instead.
///
/// All its signals are blocked meanwhile: it goes through user mode between two calls, where they would be delivered.
pub struct Injection<'a> {
    thread: Pid,
    reports: &'a mut Reports,
    entry: Registers,
    mask: SignalMask,
    place: Place,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Entry,
    Exit,
}

impl<'a> Injection<'a> {
    /// Takes over a thread that stands at a call's entry.
    ///
    /// # Errors
    /// ESRCH: it was killed.
    pub fn begin(thread: Pid, entry: Registers, reports: &'a mut Reports) -> Result<Self, Errno> {
        let mask = ptrace::signal_mask(thread)?;
        ptrace::set_signal_mask(thread, SignalMask::ALL)?;
        Ok(Self { thread, reports, entry, mask, place: Place::Entry })
    }

    /// Makes one call: its result, or the errno it ended with.
    ///
    /// # Errors
    /// ESRCH: the thread was killed; its end is reported in its turn.
    pub fn call(&mut self, number: i64, arguments: [u64; 6]) -> Result<Result<u64, Errno>, Errno> {
        let mut registers = self.entry;
        ptrace::set_arguments(&mut registers, arguments);
        if self.place == Place::Exit {
            registers.rip = self.entry.rip.wrapping_sub(SYSCALL_LENGTH);
            registers.rax = number as u64;
            // Nothing to restart.
            registers.orig_rax = u64::MAX;
            ptrace::set_registers(self.thread, &registers)?;
            self.advance()?;
        } else {
            registers.orig_rax = number as u64;
            ptrace::set_registers(self.thread, &registers)?;
        }
        self.advance()?;
        self.place = Place::Exit;
        let result = ptrace::registers(self.thread)?.rax as i64;
        Ok(if (-MAX_ERRNO..0).contains(&result) {
            Err(Errno::from_raw(-result as i32))
        } else {
            Ok(result as u64)
        })
    }

    /// Leaves the thread at the exit of its own call, with this result.
    ///
    /// # Errors
    /// ESRCH: it was killed.
    pub fn end(self, result: Result<u64, Errno>) -> Result<(), Errno> {
        let mut registers = self.entry;
        answer(&mut registers, result);
        // What `syscall` leaves in them.
        (registers.rcx, registers.r11) = (registers.rip, registers.eflags);
        ptrace::set_registers(self.thread, &registers)?;
        ptrace::set_signal_mask(self.thread, self.mask)?;
        Ok(())
    }

    /// On to the next entry into a call, or exit from it.
    fn advance(&mut self) -> Result<(), Errno> {
        loop {
            ptrace::resume(self.thread, Resume::ToSystemCall, 0)?;
            match self.reports.next_of(self.thread)? {
                Report::SystemCall => return Ok(()),
                end @ Report::Ended(_) => {
                    self.reports.put_back(self.thread, end);
                    return Err(Errno::ESRCH);
                }
                // The filter sees our calls, too, and an interruption can wait.
                _ => {}
            }
        }
    }
}

/// Makes a call that stands at its entry return `result` without having been made.
pub fn answer(registers: &mut Registers, result: Result<u64, Errno>) {
    // No call has this number: the kernel skips it, and does not restart it.
    registers.orig_rax = u64::MAX;
    registers.rax = match result {
        Ok(value) => value,
        Err(errno) => -(errno as i64) as u64,
    };
}
