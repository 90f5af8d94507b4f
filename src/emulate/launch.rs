//! The program's start: a child that waits to be seized, puts itself under the filter and executes.

#![allow(unsafe_code, reason = "fork, and a child that makes async-signal-safe calls only")]

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::unistd::{ForkResult, Pid, fork, pipe2};

use super::error::EmulateError;
use super::filter;
use super::model::Model;
use super::ptrace;
use super::supervisor::Supervisor;

/// All that `execve(2)` needs.
pub struct Program {
    pub path: CString,
    pub arguments: Vec<CString>,
    pub environment: Vec<CString>,
}

/// What the child says when it cannot become the program: the step that failed, and the errno.
type Failed = [u8; 5];
const FILTER: u8 = 1;
const EXECUTE: u8 = 2;

/// A program that has been started and is about to execute.
pub struct Started {
    pub pid: Pid,
    supervisor: Supervisor,
    report: OwnedFd,
}

/// Starts `program` under an emulated PMU of this model. `prepare` runs in the child, right before `execve`, and must
/// be async-signal-safe.
///
/// # Errors
/// `fork(2)` or `PTRACE_SEIZE` failed; nothing is left behind.
pub fn start(program: &Program, model: Model, prepare: impl FnOnce()) -> Result<Started, EmulateError> {
    let (report, reporter) = pipe2(OFlag::O_CLOEXEC).map_err(EmulateError::Pipe)?;
    let (go_ahead, starter) = pipe2(OFlag::O_CLOEXEC).map_err(EmulateError::Pipe)?;
    let arguments = pointers(&program.arguments);
    let environment = pointers(&program.environment);
    // SAFETY: the child makes async-signal-safe calls only, whatever other threads hold.
    match unsafe { fork() }.map_err(EmulateError::Fork)? {
        ForkResult::Child => {
            drop(starter);
            become_program(&program.path, &arguments, &environment, &go_ahead, &reporter, prepare)
        }
        ForkResult::Parent { child } => {
            drop((go_ahead, reporter));
            if let Err(errno) = ptrace::seize(child) {
                // The child reads the end of its pipe and leaves.
                drop(starter);
                let _ = ptrace::wait(child);
                return Err(EmulateError::Seize(errno));
            }
            let mut starter = File::from(starter);
            starter.write_all(&[1]).map_err(|_| EmulateError::Seize(Errno::ESRCH))?;
            Ok(Started { pid: child, supervisor: Supervisor::new(child, model), report })
        }
    }
}

impl Started {
    /// Serves the program to its end: its status as `wait(2)` encodes it.
    ///
    /// # Errors
    /// The program could not be executed; `waitpid(2)` failed.
    pub fn serve(self) -> Result<i32, EmulateError> {
        let status = self.supervisor.run().map_err(EmulateError::Wait)?;
        let mut failed: Failed = [0; 5];
        // End of file: `execve` closed the pipe.
        match File::from(self.report).read_exact(&mut failed) {
            Err(_) => Ok(status),
            Ok(()) => {
                let [step, errno @ ..] = failed;
                let errno = Errno::from_raw(i32::from_ne_bytes(errno));
                Err(if step == FILTER { EmulateError::Filter(errno) } else { EmulateError::Execute(errno) })
            }
        }
    }
}

fn become_program(
    path: &CStr,
    arguments: &[*const libc::c_char],
    environment: &[*const libc::c_char],
    go_ahead: &OwnedFd,
    reporter: &OwnedFd,
    prepare: impl FnOnce(),
) -> ! {
    let fail = |step: u8, errno: Errno| -> ! {
        let number = (errno as i32).to_ne_bytes();
        let failed: Failed = [step, number[0], number[1], number[2], number[3]];
        // SAFETY: write and _exit are async-signal-safe; the bytes are this function's own.
        unsafe {
            libc::write(reporter.as_raw_fd(), failed.as_ptr().cast(), failed.len());
            libc::_exit(1);
        }
    };
    let mut byte = [0u8];
    // SAFETY: one byte of this function's own is filled.
    if unsafe { libc::read(go_ahead.as_raw_fd(), byte.as_mut_ptr().cast(), 1) } != 1 {
        // SAFETY: _exit is async-signal-safe.
        unsafe { libc::_exit(1) };
    }
    if let Err(errno) = filter::install() {
        fail(FILTER, errno);
    }
    prepare();
    // SAFETY:
    // - both arrays end in a null pointer, and their strings outlive the call in this copy of the parent;
    // - execve returns only when it failed.
    unsafe { libc::execve(path.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
    fail(EXECUTE, Errno::last())
}

fn pointers(strings: &[CString]) -> Vec<*const libc::c_char> {
    strings.iter().map(|string| string.as_ptr()).chain([std::ptr::null()]).collect()
}
