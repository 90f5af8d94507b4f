//! Starts the program with the agent in its LD_PRELOAD and everything else as overstep found it.

#![allow(unsafe_code, reason = "fork and execve, with the environment in its own order")]

use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::process;

use nix::fcntl::OFlag;
use nix::unistd::{ForkResult, Pid, fork, pipe2};

use crate::cli::exit::{CANNOT_RUN, Failure, OVERSTEP_FAILED};
use crate::cli::inherited::{self, SignalState};
use crate::cli::target::Program;

/// Names the session to the agent: `1:<overstep's pid, seven digits>:<control block's fd>:<trace's fd>`. The agent
/// opens both through `/proc/<pid>/fd`, so that the program inherits no descriptor.
const SESSION: &str = "OVERSTEP_SESSION";
const PRELOAD: &str = "LD_PRELOAD";
/// Of the protocol between `overstep` and its agent.
const VERSION: u32 = 1;

/// All that `execve(2)` needs, allocated before the fork.
pub struct Launch {
    path: CString,
    arguments: Vec<CString>,
    environment: Vec<CString>,
}

impl Launch {
    /// Prepares `program` to be run as `command` (its argv) in the session of the two descriptors.
    ///
    /// # Errors
    /// The program's name or an argument has a zero byte in it.
    pub fn new(
        program: &Program,
        command: &[OsString],
        agent: &Path,
        control: BorrowedFd<'_>,
        trace: BorrowedFd<'_>,
    ) -> Result<Self, Failure> {
        // Process ids have seven digits at most (proc_pid_max(5)); one length, as it moves the program's stack.
        let session = format!("{VERSION}:{:07}:{}:{}", process::id(), control.as_raw_fd(), trace.as_raw_fd());
        let environment = environment(std::env::vars_os(), agent, &session);
        Ok(Self {
            path: program.exec_path()?,
            arguments: command.iter().map(|word| c_string(word.as_bytes())).collect::<Result<_, _>>()?,
            environment: environment.iter().map(|entry| c_string(entry)).collect::<Result<_, _>>()?,
        })
    }

    /// Forks and executes; the caller has blocked the signals it forwards.
    ///
    /// # Errors
    /// `fork(2)` or `execve(2)` failed: 125 or 126.
    pub fn start(&self) -> Result<Pid, Failure> {
        let failed = |call: &str, errno: nix::Error| {
            Failure::new(OVERSTEP_FAILED, format_args!("{call}: {errno}"))
                .next("see `ulimit -u` and `ulimit -n`")
        };
        let (reader, writer) = pipe2(OFlag::O_CLOEXEC).map_err(|errno| failed("pipe2", errno))?;
        let signals = inherited::signal_state();
        let arguments = pointers(&self.arguments);
        let environment = pointers(&self.environment);

        // SAFETY: other threads may run; the child makes async-signal-safe calls only (`replace_image`).
        match unsafe { fork() }.map_err(|errno| failed("fork", errno))? {
            ForkResult::Child => {
                replace_image(&self.path, &arguments, &environment, &signals, writer.as_raw_fd())
            }
            ForkResult::Parent { child } => {
                drop(writer);
                // End of file means that execve closed the pipe: the program runs.
                let mut errno = [0; 4];
                match File::from(reader).read_exact(&mut errno) {
                    Err(_) => Ok(child),
                    Ok(()) => {
                        let _ = nix::sys::wait::waitpid(child, None);
                        Err(refused(&self.path, i32::from_ne_bytes(errno)))
                    }
                }
            }
        }
    }
}

fn replace_image(
    path: &CString,
    arguments: &[*const libc::c_char],
    environment: &[*const libc::c_char],
    signals: &SignalState,
    report: i32,
) -> ! {
    signals.restore();
    // SAFETY:
    // - both arrays end in a null pointer, and their strings outlive the call in this copy of the parent;
    // - execve returns only when it failed; then errno is this thread's;
    // - write and _exit are async-signal-safe.
    unsafe {
        libc::execve(path.as_ptr(), arguments.as_ptr(), environment.as_ptr());
        let errno = (*libc::__errno_location()).to_ne_bytes();
        libc::write(report, errno.as_ptr().cast(), errno.len());
        libc::_exit(i32::from(CANNOT_RUN));
    }
}

fn refused(path: &CString, errno: i32) -> Failure {
    let failure = Failure::new(
        CANNOT_RUN,
        format_args!("`{}` cannot be run: {}", path.to_string_lossy(), io::Error::from_raw_os_error(errno)),
    );
    match errno {
        libc::E2BIG => {
            failure.next("pass fewer arguments or a smaller environment: overstep adds about 100 bytes")
        }
        libc::ENOEXEC => failure.next("see what it is: file PROGRAM"),
        libc::ENOENT => {
            failure.next("its loader or interpreter is missing: readelf -l PROGRAM | grep interpreter")
        }
        _ => failure,
    }
}

/// The program's environment: the user's, in the user's order, with the agent first in LD_PRELOAD and the session
/// appended. The agent takes both out again before the program's code runs.
fn environment(
    inherited: impl Iterator<Item = (OsString, OsString)>,
    agent: &Path,
    session: &str,
) -> Vec<Vec<u8>> {
    let mut preload = Some(agent.as_os_str().to_owned());
    let mut entries: Vec<_> = inherited
        .filter(|(name, _)| name != SESSION)
        .map(|(name, value)| match preload.take_if(|_| name == PRELOAD) {
            Some(agent) if value.is_empty() => entry(&name, &agent),
            Some(mut agent) => {
                agent.push(":");
                agent.push(&value);
                entry(&name, &agent)
            }
            None => entry(&name, &value),
        })
        .collect();
    entries.extend(preload.map(|agent| entry(OsStr::new(PRELOAD), &agent)));
    entries.push(entry(OsStr::new(SESSION), OsStr::new(session)));
    entries
}

fn entry(name: &OsStr, value: &OsStr) -> Vec<u8> {
    [name.as_bytes(), b"=", value.as_bytes()].concat()
}

fn c_string(bytes: &[u8]) -> Result<CString, Failure> {
    CString::new(bytes).map_err(|error| {
        let word = OsString::from_vec(error.into_vec());
        Failure::new(OVERSTEP_FAILED, format_args!("an argument cannot contain a zero byte: {word:?}"))
    })
}

fn pointers(strings: &[CString]) -> Vec<*const libc::c_char> {
    strings.iter().map(|string| string.as_ptr()).chain([std::ptr::null()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(inherited: &[(&str, &str)]) -> Vec<String> {
        let inherited = inherited.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let entries = environment(inherited, Path::new("/a.so"), "1:2:3:4");
        entries.into_iter().map(|entry| String::from_utf8(entry).unwrap()).collect()
    }

    #[test]
    fn order_is_kept_and_the_users_preload_follows_the_agent() {
        let found = with(&[("Z", "1"), ("LD_PRELOAD", "/x.so:/y.so"), ("A", "2")]);
        assert_eq!(found, ["Z=1", "LD_PRELOAD=/a.so:/x.so:/y.so", "A=2", "OVERSTEP_SESSION=1:2:3:4"]);
    }

    #[test]
    fn an_absent_or_empty_preload_becomes_the_agent_alone() {
        assert_eq!(with(&[("A", "2")]), ["A=2", "LD_PRELOAD=/a.so", "OVERSTEP_SESSION=1:2:3:4"]);
        assert_eq!(with(&[("LD_PRELOAD", "")]), ["LD_PRELOAD=/a.so", "OVERSTEP_SESSION=1:2:3:4"]);
    }

    #[test]
    fn an_outer_session_is_not_handed_on() {
        assert_eq!(
            with(&[("OVERSTEP_SESSION", "1:9:9:9")]),
            ["LD_PRELOAD=/a.so", "OVERSTEP_SESSION=1:2:3:4"]
        );
    }
}
