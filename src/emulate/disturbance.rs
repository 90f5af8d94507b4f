//! Calls that are cut short natively by nothing: because we have stopped the thread, or because the kernel wakes a tracee
//! for signals that it ignores, too (`kernel/signal.c`, `sig_ignored`).

use nix::errno::Errno;
use nix::unistd::Pid;

use super::ptrace::{self, Registers};
use super::reports::Report;
use super::supervisor::Supervisor;

/// `include/linux/errno.h`. With the third the call is made again, unless a handler runs: then it has failed with EINTR.
const ERESTARTSYS: i64 = 512;
const ERESTARTNOHAND: i64 = 514;
const ERESTART_RESTARTBLOCK: i64 = 516;

impl Supervisor {
    /// Looks after a thread that we have asked to stop: any stop answers that (`kernel/signal.c`, `ptrace_stop`), but only
    /// the one that was asked for does so before a call that is about to begin.
    pub(super) fn after_interruption(&mut self, thread: Pid, report: Report) {
        let Some(it) = self.threads.get_mut(&thread) else { return };
        let interrupted = std::mem::take(&mut it.interrupted);
        let at_exit = report == Report::SystemCall && it.call.is_some();
        if interrupted && !at_exit && report != Report::Interrupted {
            it.disturbed = true;
        } else if interrupted || at_exit && std::mem::take(&mut it.disturbed) {
            it.disturbed = false;
            self.goes_back(thread);
        }
    }

    /// A signal that the program ignores has woken the thread: 0, there is nothing to deliver.
    pub(super) fn undisturbed(&mut self, thread: Pid, signal: i32) -> Result<i32, Errno> {
        let Some(it) = self.threads.get_mut(&thread) else { return Err(Errno::ESRCH) };
        // Having been stopped ends some calls natively, too (`signal(7)`).
        if !(signal == libc::SIGCONT && std::mem::take(&mut it.group_stopped)) {
            self.goes_back(thread);
        }
        Ok(0)
    }

    /// Has a call that was cut short be made again, although it ends with EINTR where others are made again (`signal(7)`).
    /// A handler that runs first is told EINTR all the same.
    fn goes_back(&mut self, thread: Pid) {
        let Ok(mut registers) = ptrace::registers(thread) else { return };
        self.note_restart(thread, &registers);
        let Some(it) = self.threads.get_mut(&thread) else { return };
        if registers.orig_rax as i64 >= 0 && registers.rax as i64 == -(Errno::EINTR as i64) {
            registers.rax = -ERESTARTNOHAND as u64;
            let _ = ptrace::set_registers(thread, &registers);
        }
        it.sent_back = will_restart(&registers);
    }

    /// Remembers which call a `restart_syscall` would go on with.
    pub(super) fn note_restart(&mut self, thread: Pid, registers: &Registers) {
        if let Some(it) = self.threads.get_mut(&thread)
            && registers.orig_rax as i64 >= 0
            && registers.orig_rax as i64 != libc::SYS_restart_syscall
            && registers.rax as i64 == -ERESTART_RESTARTBLOCK
        {
            it.restarts = Some(registers.orig_rax as i64);
        }
    }
}

/// Whether the kernel goes back to a call that was cut short, once no handler runs: ERESTARTSYS, ERESTARTNOINTR,
/// ERESTARTNOHAND, ERESTART_RESTARTBLOCK.
pub(super) fn will_restart(registers: &Registers) -> bool {
    let result = registers.rax as i64;
    registers.orig_rax as i64 >= 0
        && ((-ERESTARTNOHAND..=-ERESTARTSYS).contains(&result) || result == -ERESTART_RESTARTBLOCK)
}
