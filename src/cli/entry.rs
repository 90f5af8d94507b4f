//! Parse, run, exit.

#![allow(unsafe_code, reason = "dying by a signal is a libc call")]

use std::io::{self, Write};
use std::panic;

use clap::Parser;
use clap::error::ErrorKind;

use super::arguments::{Command, Overstep};
use super::exit::{self, Failure, Outcome};
use super::inherited;

/// Runs the command line of this process; the exit status to return from `main`.
#[must_use]
pub fn main() -> i32 {
    inherited::prepare();
    match panic::catch_unwind(|| parse().map_or_else(|status| Ok(Outcome::Status(status)), run)) {
        Ok(Ok(Outcome::Status(status))) => status.into(),
        Ok(Ok(Outcome::Signal(signal))) => die_by(signal),
        Ok(Err(failure)) => {
            complain(&failure);
            failure.status.into()
        }
        // The hook has printed the message.
        Err(_) => exit::OVERSTEP_FAILED.into(),
    }
}

/// The parsed command line, or the status to end with: 0 after help, else a usage error's.
fn parse() -> Result<Overstep, u8> {
    Overstep::try_parse().map_err(|error| match (error.kind(), error.print()) {
        // A closed pipe under `--help | head` is no news.
        (ErrorKind::DisplayHelp | ErrorKind::DisplayVersion, Ok(())) => exit::HOLDS,
        (ErrorKind::DisplayHelp | ErrorKind::DisplayVersion, Err(error))
            if error.kind() == io::ErrorKind::BrokenPipe =>
        {
            exit::HOLDS
        }
        _ if runs_a_program() => exit::OVERSTEP_FAILED,
        _ => exit::USAGE,
    })
}

/// Whether the command line, right or wrong, is one of `trace` or `emulate`: their statuses leave the low ones to the
/// program.
fn runs_a_program() -> bool {
    std::env::args_os()
        .skip(1)
        .find(|word| !word.to_string_lossy().starts_with('-'))
        .is_some_and(|it| it == "trace" || it == "emulate")
}

fn run(overstep: Overstep) -> Result<Outcome, Failure> {
    match overstep.command {
        Command::Demo(arguments) => super::demo::run(&arguments),
        Command::Trace(arguments) => super::trace::run(&arguments),
        Command::List(arguments) => super::list::run(&arguments),
        Command::Diff(arguments) => super::diff::run(&arguments),
        Command::Check(arguments) => super::check::run(&arguments),
        Command::Symbols(arguments) => super::symbols::run(&arguments),
        Command::Doctor(arguments) => super::doctor::run(&arguments),
        Command::Emulate(arguments) => super::emulate::run(&arguments),
        Command::Validate(arguments) => super::validate::run(&arguments),
        Command::Completions(arguments) => super::completions::run(&arguments),
        Command::Man(arguments) => super::man::run(&arguments),
    }
}

fn complain(failure: &Failure) {
    let _ = writeln!(anstream::AutoStream::auto(io::stderr()), "overstep: {failure}");
}

/// Ends this process as the traced program ended, so that a shell sees the same.
fn die_by(signal: i32) -> i32 {
    // SAFETY:
    // - the program has dumped its core already, a second one would overwrite it;
    // - the signal is unblocked and has its default effect before it is raised;
    // - all pointers are to values on this stack.
    unsafe {
        let no_core = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::setrlimit(libc::RLIMIT_CORE, &raw const no_core);
        libc::signal(signal, libc::SIG_DFL);
        let mut only = std::mem::zeroed::<libc::sigset_t>();
        libc::sigaddset(&raw mut only, signal);
        libc::sigprocmask(libc::SIG_UNBLOCK, &raw const only, std::ptr::null_mut());
        libc::raise(signal);
    }
    // Only a signal that does nothing by default comes here; a program cannot have died of one.
    128 + signal
}
