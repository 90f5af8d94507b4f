//! Running the executable, and small programs to run it on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// `overstep` without anything in the environment that would colour or replace its parts.
pub fn overstep() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_overstep"));
    command.env_remove("OVERSTEP_AGENT").env_remove("CLICOLOR_FORCE").env("NO_COLOR", "1");
    command
}

/// What one run left.
#[derive(Debug)]
pub struct Run {
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

pub fn run(command: &mut Command) -> Run {
    let Output { status, stdout, stderr } = command.output().expect("overstep starts");
    Run {
        status: status.code(),
        stdout: String::from_utf8_lossy(&stdout).into_owned(),
        stderr: String::from_utf8_lossy(&stderr).into_owned(),
    }
}

/// The program most tests need: two functions with near names, no `exec` or `dlopen` in sight.
pub const GCD: &str = "
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline, noipa)) long gcd(long a, long b) { while (b) { long t = a % b; a = b; b = t; } return a; }
__attribute__((noinline)) long gcd_of_three(long a, long b, long c) { return gcd(gcd(a, b), c) + 1; }
int main(int argc, char **argv) {
    long a = argc > 1 ? atol(argv[1]) : 48, b = argc > 2 ? atol(argv[2]) : 18;
    long two = gcd(a, b), three = gcd_of_three(a, b, 5);
    printf(\"%ld %ld\\n\", two, three);
    return 7;
}
";

/// A directory with one compiled program in it.
pub struct Program {
    directory: TempDir,
    pub path: PathBuf,
}

impl Program {
    /// Compiles `source` with gcc and `flags`; `None` after printing a SKIP line when gcc is missing or cannot
    /// build it (no static libc, no 32-bit compiler).
    pub fn compile(test: &str, source: &str, flags: &[&str]) -> Option<Self> {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let source_file = directory.path().join("a.c");
        fs::write(&source_file, source).expect("the source is written");
        let path = directory.path().join("a.out");
        let built =
            Command::new("gcc").arg("-O1").args(flags).arg("-o").arg(&path).arg(&source_file).output();
        match built {
            Ok(output) if output.status.success() => Some(Self { directory, path }),
            Ok(_) => skip(test, &format!("gcc {flags:?} builds nothing here")),
            Err(error) => skip(test, &format!("gcc: {error}")),
        }
    }

    pub fn directory(&self) -> &Path {
        self.directory.path()
    }
}

/// Says on the test's output that it proved nothing.
pub fn skip<T>(test: &str, reason: &str) -> Option<T> {
    println!("SKIP {test}: {reason}");
    None
}
