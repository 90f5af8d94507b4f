//! What the tracees report, in the order it is to be looked at.

use std::collections::VecDeque;

use nix::errno::Errno;
use nix::unistd::Pid;

use super::ptrace;

/// One report, decoded (`ptrace(2)`, "Stopped states").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// It is gone; the status as `wait(2)` encodes it.
    Ended(i32),
    /// Entry into a system call, or exit from it.
    SystemCall,
    /// The filter saw a call that may concern an event.
    Seccomp,
    /// It started a thread or process.
    Started,
    Executed,
    /// A group stop by this signal.
    GroupStop(i32),
    /// It was interrupted, has just begun, or its group stop has ended.
    Interrupted,
    /// This signal is about to be delivered.
    Signal(i32),
}

impl Report {
    fn decode(status: i32) -> Self {
        const SYSTEM_CALL: i32 = libc::SIGTRAP | 0x80;
        if !libc::WIFSTOPPED(status) {
            return Self::Ended(status);
        }
        match (status >> 16, libc::WSTOPSIG(status)) {
            (0, SYSTEM_CALL) => Self::SystemCall,
            (libc::PTRACE_EVENT_SECCOMP, _) => Self::Seccomp,
            (libc::PTRACE_EVENT_CLONE | libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK, _) => {
                Self::Started
            }
            (libc::PTRACE_EVENT_EXEC, _) => Self::Executed,
            (libc::PTRACE_EVENT_STOP, libc::SIGTRAP) => Self::Interrupted,
            (libc::PTRACE_EVENT_STOP, signal) => Self::GroupStop(signal),
            (_, signal) => Self::Signal(signal),
        }
    }
}

/// The stream of reports; some are put back until their turn comes.
#[derive(Default)]
pub struct Reports {
    later: VecDeque<(Pid, Report)>,
}

impl Reports {
    /// # Errors
    /// ECHILD: no tracee is left. EINTR: a signal's handler ran.
    pub fn next(&mut self) -> Result<(Pid, Report), Errno> {
        if let Some(report) = self.later.pop_front() {
            return Ok(report);
        }
        ptrace::wait_any().map(|(thread, status)| (thread, Report::decode(status)))
    }

    /// The next one of a single thread.
    ///
    /// # Errors
    /// ECHILD: it is gone.
    pub fn next_of(&mut self, thread: Pid) -> Result<Report, Errno> {
        loop {
            match ptrace::wait(thread) {
                Ok((_, status)) => return Ok(Report::decode(status)),
                Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno),
            }
        }
    }

    pub fn put_back(&mut self, thread: Pid, report: Report) {
        self.later.push_back((thread, report));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_decoded_as_ptrace_encodes_them() {
        let stopped = |event: i32, signal: i32| Report::decode(event << 16 | signal << 8 | 0x7f);
        assert_eq!(stopped(0, libc::SIGTRAP | 0x80), Report::SystemCall);
        assert_eq!(stopped(0, libc::SIGTRAP), Report::Signal(libc::SIGTRAP));
        assert_eq!(stopped(libc::PTRACE_EVENT_STOP, libc::SIGTRAP), Report::Interrupted);
        assert_eq!(stopped(libc::PTRACE_EVENT_STOP, libc::SIGTSTP), Report::GroupStop(libc::SIGTSTP));
        assert_eq!(stopped(libc::PTRACE_EVENT_VFORK, libc::SIGTRAP), Report::Started);
        assert_eq!(Report::decode(3 << 8), Report::Ended(3 << 8));
        assert_eq!(Report::decode(libc::SIGKILL), Report::Ended(libc::SIGKILL));
    }
}
