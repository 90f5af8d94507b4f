//! A program with its arguments, as it is run natively and traced.

use std::collections::BTreeMap;
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

    /// All that the program finds in its environment, in this order; nothing that differs between users.
    pub fn environment(&self) -> BTreeMap<String, OsString> {
        let mut all = BTreeMap::from([
            ("PATH".to_owned(), std::env::var_os("PATH").unwrap_or_default()),
            ("LC_ALL".to_owned(), "C".into()),
            ("HOME".to_owned(), "/nonexistent".into()),
        ]);
        all.extend(std::env::var_os("OVERSTEP_AGENT").map(|agent| ("OVERSTEP_AGENT".to_owned(), agent)));
        all.extend(self.environment.iter().map(|(name, value)| (name.clone(), value.into())));
        all
    }

    /// `before`, then the program, with fixed addresses.
    pub fn command(&self, before: &[OsString]) -> Command {
        let mut command = Command::new(FIXED_ADDRESSES[0]);
        command.args(&FIXED_ADDRESSES[1..]).args(before).arg(&self.path).args(&self.arguments);
        command.env_clear().envs(self.environment());
        command.stdin(match &self.input {
            Some(path) => std::fs::File::open(path).expect("the input file").into(),
            None => Stdio::null(),
        });
        command
    }
}
