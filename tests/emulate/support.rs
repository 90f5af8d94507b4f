//! Compiling the programs of `fixtures/emulate` and running them under `overstep emulate`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use tempfile::TempDir;

/// A compiled program of `fixtures/emulate`.
pub struct Fixture {
    _directory: TempDir,
    pub path: PathBuf,
}

impl Fixture {
    /// `None` after printing a SKIP line, where there is no gcc.
    pub fn build(name: &str) -> Option<Self> {
        Self::build_with(name, &[])
    }

    /// The same with more flags of the compiler's.
    pub fn build_with(name: &str, flags: &[&str]) -> Option<Self> {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join(name);
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/emulate").join(format!("{name}.c"));
        let built = Command::new("gcc")
            .args(["-O1", "-pthread"])
            .args(flags)
            .arg("-o")
            .arg(&path)
            .arg(source)
            .output();
        match built {
            Ok(output) => {
                let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
                assert!(output.status.success(), "{name}.c: {complaint}");
                Some(Self { _directory: directory, path })
            }
            Err(error) => {
                println!("SKIP {name}: gcc: {error}");
                None
            }
        }
    }

    /// Runs it under a model: `model` are the options of `overstep emulate`.
    pub fn run(&self, model: &[&str], arguments: &[&str]) -> Run {
        let mut command = emulate(model);
        command.arg(&self.path).args(arguments);
        run(&mut command)
    }
}

/// `overstep emulate -q MODEL… --`, to which the program is to be added. It ends after a minute, whatever happens.
pub fn emulate(model: &[&str]) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", "60", env!("CARGO_BIN_EXE_overstep"), "emulate", "-q"]);
    command.args(model).arg("--");
    command
}

/// What one run left.
#[derive(Debug, PartialEq, Eq)]
pub struct Run {
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

pub fn run(command: &mut Command) -> Run {
    let Output { status, stdout, stderr } = command.output().expect("it starts");
    Run {
        status: status.code(),
        stdout: String::from_utf8_lossy(&stdout).into_owned(),
        stderr: String::from_utf8_lossy(&stderr).into_owned(),
    }
}

/// Asserts that a fixture prints `expected` and ends with 0.
#[track_caller]
pub fn assert_prints(fixture: &str, model: &[&str], arguments: &[&str], expected: &str) {
    let Some(program) = Fixture::build(fixture) else { return };
    let run = program.run(model, arguments);
    assert_eq!(run.stderr, "", "{fixture} {arguments:?}");
    assert_eq!(run.stdout, expected, "{fixture} {model:?} {arguments:?}");
    assert_eq!(run.status, Some(0), "{fixture} {arguments:?}");
}

/// Whether it is `done` before `within` is over.
pub fn wait_until(within: Duration, mut done: impl FnMut() -> bool) -> bool {
    let begun = std::time::Instant::now();
    while begun.elapsed() < within {
        if done() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    done()
}
