//! Running the executable, and reading what it reports.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// `overstep validate` with `arguments`, without colours.
pub fn validate(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_overstep"));
    command.arg("validate").args(arguments).env("NO_COLOR", "1");
    command
}

/// Status, standard output and standard error.
pub fn run(command: &mut Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command.output().expect("overstep starts");
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    (status.code(), text(&stdout), text(&stderr))
}

pub fn report(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).expect("a report was written");
    serde_json::from_str(&text).expect("it is JSON")
}

pub fn rows(report: &Value) -> &[Value] {
    report["results"].as_array().expect("results are a list")
}

/// Says on the test's output that it proved nothing.
pub fn skip(test: &str, reason: &str) {
    println!("SKIP {test}: {reason}");
}
