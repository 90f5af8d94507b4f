//! Why a program cannot be run under the emulated PMU.

use nix::errno::Errno;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmulateError {
    #[error("no pipe to the program: {0}")]
    Pipe(Errno),
    #[error("fork: {0}")]
    Fork(Errno),
    #[error("ptrace cannot attach to the program: {0}")]
    Seize(Errno),
    #[error("the kernel refuses a seccomp filter: {0}")]
    Filter(Errno),
    #[error("the program cannot be executed: {0}")]
    Execute(Errno),
    #[error("waitpid: {0}")]
    Wait(Errno),
}
