//! The executable and the agent that this build made, and this very program as what they run.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The executable under test; `None` in a build without the `cli` feature.
fn overstep() -> Option<PathBuf> {
    option_env!("CARGO_BIN_EXE_overstep").map(PathBuf::from).filter(|path| path.exists())
}

/// The agent that the executable carries, as a file; `None` in a build without the `cli` feature.
pub fn agent() -> Option<PathBuf> {
    option_env!("OUT_DIR").map(|directory| Path::new(directory).join("agent.so")).filter(|path| path.exists())
}

/// This program, to run `name` of [`program`](crate::program).
pub fn this_program(name: &str, amount: usize) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("/proc is there"));
    command.arg("--program").arg(name).arg(amount.to_string());
    command
}

/// `overstep trace OPTIONS -o FILE -- PROGRAM`, quietly. `None` without an executable.
pub fn trace(options: &[&str], file: &Path, program: &Command) -> Option<Command> {
    let mut command = Command::new(overstep()?);
    command.arg("trace").args(options).arg("--quiet").arg("--force").arg("-o").arg(file);
    command.arg("--").arg(program.get_program()).args(program.get_args());
    command.stderr(Stdio::null());
    Some(command)
}

/// `overstep list FILE`, to nowhere. `None` without an executable.
pub fn list(file: &Path) -> Option<Command> {
    let mut command = Command::new(overstep()?);
    command.arg("list").arg(file).stdout(Stdio::null()).stderr(Stdio::null());
    Some(command)
}
