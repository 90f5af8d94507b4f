//! A program with its arguments, as it is run natively and traced.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Switches address space randomisation off, so that two runs have the same addresses (`man 8 setarch`).
pub const FIXED_ADDRESSES: [&str; 3] = ["setarch", "x86_64", "-R"];

/// What to run.
#[derive(Clone, Debug)]
pub struct Program {
    pub path: PathBuf,
    pub arguments: Vec<OsString>,
    pub environment: Vec<(String, String)>,
    /// Given on standard input.
    pub input: Option<PathBuf>,
}

impl Program {
    pub fn new(path: impl AsRef<Path>, arguments: &[&str]) -> Self {
        Self {
            path: path.as_ref().to_owned(),
            arguments: arguments.iter().map(OsString::from).collect(),
            environment: Vec::new(),
            input: None,
        }
    }

    /// With one more environment variable.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// `before`, then the program, with fixed addresses and nothing in the environment that differs between users.
    pub fn command(&self, before: &[OsString]) -> Command {
        let mut command = Command::new(FIXED_ADDRESSES[0]);
        command.args(&FIXED_ADDRESSES[1..]).args(before).arg(&self.path).args(&self.arguments);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("LC_ALL", "C").env("HOME", "/nonexistent");
        if let Some(agent) = std::env::var_os("OVERSTEP_AGENT") {
            command.env("OVERSTEP_AGENT", agent);
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(match &self.input {
            Some(path) => std::fs::File::open(path).expect("the input file").into(),
            None => Stdio::null(),
        });
        command
    }
}
