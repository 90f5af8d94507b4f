//! What a step weighs in the trace file.

use std::path::Path;
use std::process::{Command, Stdio};

use overstep::check::summary::Summary;
use overstep::record::reader::Trace;

use crate::command;
use crate::line::{self, Target};
use crate::python::Installation;
use crate::selection::Selection;

/// Enough that header, code and symbols weigh what they do in real traces.
const STEPS: &str = "100000";

pub fn run(selection: &Selection) {
    let python = || {
        let mut command = Command::new(Installation::of_path()?.executable);
        command.args(["-c", "print(sorted({str(i % 7): i for i in range(40)}.items()))"]);
        Some(command)
    };
    measure("qsort", "bench_qsort", selection, || Some(command::this_program("qsort", 40)));
    measure("branchy", "bench_branchy", selection, || Some(command::this_program("branchy", 400)));
    measure("python", "PyEval_EvalCode", selection, python);
}

fn measure(workload: &str, function: &str, selection: &Selection, program: impl Fn() -> Option<Command>) {
    for (registers, target) in [("none", 3.0), ("changed", 16.0)] {
        let name = format!("size/{registers}/{workload}");
        if !selection.wants(&name) {
            continue;
        }
        let Some(program) = program() else {
            line::skip(&name, "no python3 here");
            continue;
        };
        let options = ["-f", function, "--into", "all", "--registers", registers, "--max-steps", STEPS];
        match bytes_and_steps(&options, &program) {
            Ok((bytes, steps)) => {
                let basis = format!("{bytes} bytes, {steps} steps, --registers {registers}");
                line::figure(&name, bytes as f64 / steps as f64, "B/step", Target::AtMost(target), &basis);
            }
            Err(reason) => line::skip(&name, &reason),
        }
    }
}

/// Length of the whole trace file, header, code and symbols included, and its rows.
fn bytes_and_steps(options: &[&str], program: &Command) -> Result<(u64, u64), String> {
    let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
    let file = directory.path().join("t.ostrace");
    write(options, &file, program)?;
    let bytes = file.metadata().map_err(|error| error.to_string())?.len();
    let trace = Trace::open(&file).map_err(|error| error.to_string())?;
    Ok((bytes, Summary::of(&trace).steps.max(1)))
}

/// Traces `program` into `file`.
pub fn write(options: &[&str], file: &Path, program: &Command) -> Result<(), String> {
    let mut trace = command::trace(options, file, program).ok_or("built without the `cli` feature")?;
    match trace.stdout(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("overstep trace: {status}")),
        Err(error) => Err(format!("overstep trace: {error}")),
    }
}
