//! How long a call waits is known from its entry on, and how long it still has to from its exit.

use nix::errno::Errno;
use nix::unistd::Pid;

use crate::emulate::ptrace::{self, Registers};
use crate::emulate::supervisor::Supervisor;
use crate::emulate::wait::Wait;

impl Supervisor {
    /// A call begins, or is made again: its number, of `restart_syscall` that of the call it goes on with.
    pub(super) fn waits_on(
        &mut self,
        thread: Pid,
        again: bool,
        registers: &mut Registers,
    ) -> Result<i64, Errno> {
        let number = registers.orig_rax as i64;
        let Some(it) = self.threads.get_mut(&thread) else { return Err(Errno::ESRCH) };
        if number == libc::SYS_restart_syscall {
            return Ok(it.restarts.unwrap_or(number));
        }
        it.restarts = None;
        match &mut it.wait {
            Some(wait) if again => wait.shorten(thread, registers)?,
            wait => *wait = Wait::of(number, ptrace::arguments(registers)),
        }
        Ok(number)
    }

    /// A call has ended, or has been cut short.
    pub(super) fn ends_wait(&mut self, thread: Pid) -> Result<(), Errno> {
        let Some(it) = self.threads.get_mut(&thread) else { return Err(Errno::ESRCH) };
        if let Some(wait) = &mut it.wait {
            wait.restore(thread)?;
        }
        let registers = ptrace::registers(thread)?;
        self.note_restart(thread, &registers);
        Ok(())
    }

    /// From now on it is known of all the process's calls how long they have waited.
    pub(super) fn times_sockets(&mut self, thread: Pid) {
        let Some(process) = self.threads.get(&thread).map(|it| it.process) else { return };
        if self.timed.insert(process) {
            self.interrupt_all(process);
        }
    }
}
