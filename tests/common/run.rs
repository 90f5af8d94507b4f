//! Runs a program natively or under `overstep trace`, and reads the trace.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitStatus, Output};

use overstep::check::summary::Summary;
use overstep::record::reader::Trace;

use super::program::Program;
use super::sandbox::refuse_perf;
use super::way::Way;

/// What others see of a run.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    pub status: ExitStatus,
    pub stdout: String,
}

/// A traced run.
pub struct Traced {
    pub outcome: Outcome,
    pub stderr: String,
    pub trace: Trace,
}

pub fn native(program: &Program) -> Outcome {
    outcome(&program.command(&[]).output().expect("the program starts"))
}

fn outcome(output: &Output) -> Outcome {
    Outcome { status: output.status, stdout: String::from_utf8_lossy(&output.stdout).into_owned() }
}

/// Traces `program` with `options` in one `way`, into a file in `directory`.
///
/// The file is checked by `overstep check`, unless nothing was traced, and read.
pub fn traced(program: &Program, options: &[&str], way: Way, directory: &Path) -> Traced {
    let file = directory.join("t.ostrace");
    let mut before: Vec<OsString> = Vec::new();
    if let Some(model) = way.emulated {
        before.extend([env!("CARGO_BIN_EXE_overstep"), "emulate", "--quiet"].map(OsString::from));
        before.extend(model.iter().map(OsString::from));
        before.push("--".into());
    }
    before.extend([env!("CARGO_BIN_EXE_overstep"), "trace"].map(OsString::from));
    before.extend(way.options.iter().chain(options).map(OsString::from));
    before.extend(["--quiet".into(), "--force".into(), "-o".into(), file.clone().into(), "--".into()]);
    let mut command = program.command(&before);
    if way.refused {
        refuse_perf(&mut command, libc::EPERM);
    }
    let output = command.output().expect("overstep starts");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let described = format!("{} {options:?} {program:?}", way.name);
    let trace =
        Trace::open(&file).unwrap_or_else(|error| panic!("{described}: {error}\nits stderr: {stderr}"));
    assert_eq!(trace.damage(), [], "{described}: damaged");
    let summary = Summary::of(&trace);
    assert!(
        summary.strict_holds(),
        "{described}: {}\n{summary:?}\nits stderr: {stderr}",
        summary.synchronous_phrase()
    );
    if summary.steps > 0 {
        check(&file, &described);
    }
    Traced { outcome: outcome(&output), stderr, trace }
}

fn check(file: &Path, described: &str) {
    let output = Command::new(env!("CARGO_BIN_EXE_overstep")).arg("check").arg(file).output();
    let output = output.expect("overstep check starts");
    let report = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{described}: overstep check ends with {}: {report}", output.status);
}
