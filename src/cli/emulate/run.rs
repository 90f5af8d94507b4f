//! One emulated run: look, say the model, run, end as the program did.

use std::ffi::CString;
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use super::arguments::Arguments;
use super::{refusal, signals};
use crate::cli::exit::{CANNOT_RUN, Failure, OVERSTEP_FAILED, Outcome};
use crate::cli::{inherited, target};
use crate::emulate::{self, EmulateError};

/// # Errors
/// 125, 126 and 127 as for `overstep trace`.
pub fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    arguments.consistent()?;
    let program = target::resolve(&arguments.command[0])?;
    refusal::check(&program)?;
    let model = arguments.model();
    if !arguments.quiet {
        let line = format!("overstep: emulated PMU: {model}");
        let _ = writeln!(anstream::AutoStream::auto(io::stderr()), "{line}");
    }
    let launch = emulate::Program {
        path: program.exec_path()?,
        arguments: arguments
            .command
            .iter()
            .map(|word| c_string(word.as_bytes()))
            .collect::<Result<_, _>>()?,
        environment: environment()?,
    };
    signals::hold();
    let state = inherited::signal_state();
    let started = emulate::start(&launch, model, || state.restore()).map_err(|error| failure(&error))?;
    signals::forward_to(started.pid);
    let status = started.serve();
    signals::stop();
    let status = status.map_err(|error| failure(&error))?;
    Ok(match libc::WIFSIGNALED(status) {
        true => Outcome::Signal(libc::WTERMSIG(status)),
        false => Outcome::Status(libc::WEXITSTATUS(status) as u8),
    })
}

fn failure(error: &EmulateError) -> Failure {
    match error {
        EmulateError::Execute(_) => {
            Failure::new(CANNOT_RUN, error).next("its loader or interpreter may be missing: readelf -l PROGRAM | grep interpreter")
        }
        EmulateError::Seize(_) => Failure::new(OVERSTEP_FAILED, error)
            .next("see /proc/sys/kernel/yama/ptrace_scope, and whether a container's seccomp profile refuses ptrace"),
        EmulateError::Filter(_) => {
            Failure::new(OVERSTEP_FAILED, error).next("the kernel needs CONFIG_SECCOMP_FILTER")
        }
        EmulateError::Pipe(_) | EmulateError::Fork(_) => {
            Failure::new(OVERSTEP_FAILED, error).next("see `ulimit -u` and `ulimit -n`")
        }
        EmulateError::Wait(_) => Failure::new(OVERSTEP_FAILED, error),
    }
}

fn environment() -> Result<Vec<CString>, Failure> {
    std::env::vars_os()
        .map(|(name, value)| c_string(&[name.as_bytes(), b"=", value.as_bytes()].concat()))
        .collect()
}

fn c_string(bytes: &[u8]) -> Result<CString, Failure> {
    CString::new(bytes).map_err(|error| {
        let word = std::ffi::OsString::from_vec(error.into_vec());
        Failure::new(OVERSTEP_FAILED, format_args!("an argument cannot contain a zero byte: {word:?}"))
    })
}
