//! A program stepped by the counter of an emulated PMU, and what its trace says.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::agent_support::agent;
use crate::common::skip::{skip, traceable};

const OVERSTEP: &str = env!("CARGO_BIN_EXE_overstep");

/// A compiled program of `fixtures/emulate` or `fixtures/programs`, whose function `traced` is to be stepped.
pub struct Subject {
    directory: TempDir,
    path: PathBuf,
}

/// What one run left.
pub struct Stepped {
    pub lines: Vec<Value>,
    pub stderr: String,
}

impl Subject {
    /// `None` after saying why there is nothing to test.
    pub fn build(source: &str) -> Option<Self> {
        traceable(source)?;
        agent(source)?;
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("subject");
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(source);
        let built =
            Command::new("gcc").args(["-O1", "-fno-stack-protector", "-o"]).arg(&path).arg(from).output();
        match built {
            Err(error) => skip(source, &format!("gcc: {error}")),
            Ok(output) => {
                assert!(output.status.success(), "{source}: {}", String::from_utf8_lossy(&output.stderr));
                Some(Self { directory, path })
            }
        }
    }

    /// Steps it by the counter under this model.
    pub fn step(&self, model: &[&str], options: &[&str], arguments: &[&str]) -> Stepped {
        let counter = ["--engine", "instructions"].iter().chain(options).copied();
        self.run(Some(model), &counter.collect::<Vec<_>>(), arguments)
    }

    /// The same by the breakpoint engine, without an emulator.
    pub fn step_by_breakpoints(&self, arguments: &[&str]) -> Stepped {
        self.run(None, &["--engine", "breakpoint"], arguments)
    }

    fn run(&self, model: Option<&[&str]>, options: &[&str], arguments: &[&str]) -> Stepped {
        let mut words: Vec<&OsStr> = Vec::new();
        words.extend(["--kill-after=5", "100", "setarch", "-R", OVERSTEP].map(OsStr::new));
        if let Some(model) = model {
            words.extend(["emulate", "-q"].iter().chain(model).chain(&["--", OVERSTEP]).map(OsStr::new));
        }
        words.extend(["trace"].iter().chain(options).map(OsStr::new));
        words.extend(["-f", "traced", "--format", "json", "--"].map(OsStr::new));
        words.push(self.path.as_os_str());
        words.extend(arguments.iter().map(OsStr::new));
        let output = Command::new("timeout")
            .args(words)
            .current_dir(self.directory.path())
            .output()
            .expect("timeout starts");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{model:?} {options:?}: {stderr}");
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        let lines = text.lines().filter(|line| line.starts_with('{'));
        Stepped { lines: lines.map(|line| serde_json::from_str(line).expect("JSON")).collect(), stderr }
    }
}

impl Stepped {
    pub fn steps(&self) -> impl Iterator<Item = &Value> {
        self.lines.iter().filter(|line| line["type"] == "step")
    }

    pub fn markers(&self, kind: &str) -> Vec<&Value> {
        self.lines.iter().filter(|line| line["type"] == "marker" && line["kind"] == kind).collect()
    }

    pub fn summary(&self) -> &Value {
        self.lines.iter().find(|line| line["type"] == "summary").expect("a summary")
    }

    /// Call, place in it and address of each row.
    pub fn places(&self) -> Vec<(u64, u64, &str)> {
        let number = |step: &Value, name: &str| step[name].as_u64().expect("a number");
        let place = |step| (number(step, "call"), number(step, "n"), string(step, "address"));
        self.steps().map(place).collect()
    }

    /// From where to where control went, as far as no row is missing in between.
    pub fn passages(&self) -> Vec<(&str, &str)> {
        let mut passages = Vec::new();
        for (one, next) in self.lines.iter().zip(&self.lines[1..]) {
            if one["type"] == "step" && next["type"] == "step" {
                passages.push((string(one, "address"), string(next, "address")));
            }
        }
        passages
    }

    /// `skid(n)`, or the verdict's name, of each row.
    pub fn verdicts(&self) -> Vec<String> {
        let verdict = |step: &Value| {
            let name = string(step, "verdict");
            step["late"].as_u64().map_or_else(|| name.to_owned(), |skid| format!("{name}({skid})"))
        };
        self.steps().map(verdict).collect()
    }

    /// How late the counter's stops of a call were, in order: of those that a stop of the counter ended, all but the
    /// call's first row.
    pub fn skids(&self, call: u64) -> Vec<u32> {
        let rows = self.steps().filter(|step| step["call"] == call && step["n"] != 1);
        let late = |step: &Value| match string(step, "verdict") {
            "exact" => Some(0),
            "skid" => Some(step["late"].as_u64().expect("a number") as u32),
            _ => None,
        };
        rows.filter_map(late).collect()
    }
}

pub fn string<'a>(line: &'a Value, name: &str) -> &'a str {
    line[name].as_str().unwrap_or_else(|| panic!("{name} in {line}"))
}
