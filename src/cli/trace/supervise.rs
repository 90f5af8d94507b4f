//! While the program runs: its signals reach it, ours do not end the trace, and its end is awaited.

#![allow(unsafe_code, reason = "sigaction, and a handler that forwards by kill(2)")]

use std::sync::atomic::{AtomicI32, Ordering};

use nix::errno::Errno;
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::Pid;

use crate::cli::exit::{Failure, OVERSTEP_FAILED, Outcome};
use crate::cli::inherited;

/// The program, for [`forward`]; 0 before it runs and after it ended.
/// ATOMICS: relaxed, the handler runs in the thread that stores, and in no other (the others block the signals).
static PROGRAM: AtomicI32 = AtomicI32::new(0);

/// A terminal sends Ctrl-C and Ctrl-\ to the program, too, which decides what they mean.
const IGNORED: [i32; 2] = [libc::SIGINT, libc::SIGQUIT];
/// What others send to a process that they take for the program.
const FORWARDED: [Signal; 4] = [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGUSR1, Signal::SIGUSR2];

/// How the program ended, as `wait(2)` encodes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitStatus(pub i32);

impl WaitStatus {
    /// How overstep ends after a program that ended like this.
    pub fn outcome(self) -> Outcome {
        if libc::WIFSIGNALED(self.0) {
            Outcome::Signal(libc::WTERMSIG(self.0))
        } else {
            Outcome::Status(libc::WEXITSTATUS(self.0) as u8)
        }
    }
}

/// Starts the program by `start` and waits for its end. To be called from the main thread, before others exist;
/// those that `start` makes leave the forwarded signals to this one, by the mask they inherit.
///
/// # Errors
/// Those of `start`; `waitpid(2)` failed.
pub fn run(start: impl FnOnce() -> Result<Pid, Failure>) -> Result<WaitStatus, Failure> {
    IGNORED.iter().copied().for_each(inherited::ignore);
    let forwarded: SigSet = FORWARDED.into_iter().collect();
    // From here until PROGRAM is known a signal waits; the child gets the mask overstep was started with.
    let _ = forwarded.thread_block();
    let at_start = inherited::signal_state();
    for signal in FORWARDED.map(|signal| signal as i32) {
        if !at_start.ignored(signal) {
            install(signal);
        }
    }
    let program = start()?;
    PROGRAM.store(program.as_raw(), Ordering::Relaxed);
    let _ = forwarded.thread_unblock();
    let status = wait(program);
    // What follows is overstep's own work, which Ctrl-C may end.
    at_start.restore_dispositions(|signal| {
        IGNORED.contains(&signal) || FORWARDED.iter().any(|it| *it as i32 == signal)
    });
    status
}

fn wait(program: Pid) -> Result<WaitStatus, Failure> {
    let mut status = 0;
    loop {
        // SAFETY: `status` is this function's own.
        match Errno::result(unsafe { libc::waitpid(program.as_raw(), &raw mut status, 0) }) {
            Ok(_) => break,
            Err(Errno::EINTR) => {}
            Err(errno) => {
                return Err(Failure::new(OVERSTEP_FAILED, format_args!("waitpid: {errno}")));
            }
        }
    }
    // The number may soon be another process's.
    PROGRAM.store(0, Ordering::Relaxed);
    Ok(WaitStatus(status))
}

fn install(signal: i32) {
    // SAFETY:
    // - an all-zero sigaction is valid, its mask empty;
    // - `forward` has the type that a handler without SA_SIGINFO has.
    unsafe {
        let mut action = std::mem::zeroed::<libc::sigaction>();
        action.sa_sigaction = forward as extern "C" fn(i32) as usize;
        libc::sigaction(signal, &raw const action, std::ptr::null_mut());
    }
}

/// # Signal safety
/// One atomic load and `kill(2)`, which is async-signal-safe; errno is put back.
extern "C" fn forward(signal: i32) {
    let program = PROGRAM.load(Ordering::Relaxed);
    if program > 0 {
        // SAFETY: kill takes no pointer; errno belongs to the interrupted thread.
        unsafe {
            let errno = *libc::__errno_location();
            libc::kill(program, signal);
            *libc::__errno_location() = errno;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_status_becomes_the_same_end() {
        // wait(2): the exit status is in bits 8 to 15, the signal in bits 0 to 6, bit 7 means a core was dumped.
        assert_eq!(WaitStatus(3 << 8).outcome(), Outcome::Status(3));
        assert_eq!(WaitStatus(libc::SIGSEGV | 0x80).outcome(), Outcome::Signal(libc::SIGSEGV));
    }
}
