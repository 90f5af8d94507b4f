//! Running the executable, and reading what it reports.

use std::path::Path;
use std::process::{Command, Output};

use boon::{Compiler, Schemas};
use serde_json::{Value, json};

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

const SCHEMA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/validate.schema.json");

/// Why a report is none by the schema.
pub fn refusal(report: &Value) -> Option<String> {
    let mut schemas = Schemas::new();
    let index = Compiler::new().compile(SCHEMA, &mut schemas).expect("the schema is one");
    schemas.validate(report, index).err().map(|refusal| format!("{refusal:#}"))
}

/// As [`refusal`], by a schema that admits nothing but what it lists.
pub fn listed(report: &Value) -> Option<String> {
    const STRICT: &str = "strict.json";
    let text = std::fs::read_to_string(SCHEMA).expect("the schema is there");
    let mut schema = serde_json::from_str(&text).expect("it is JSON");
    close(&mut schema);
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.add_resource(STRICT, schema).expect("the schema is one");
    let index = compiler.compile(STRICT, &mut schemas).expect("the schema is one");
    schemas.validate(report, index).err().map(|refusal| format!("{refusal:#}"))
}

/// Each object that lists properties has no others.
fn close(schema: &mut Value) {
    if schema.get("type") == Some(&json!("object")) && schema.get("properties").is_some() {
        schema["additionalProperties"] = json!(false);
    }
    match schema {
        Value::Object(members) => members.values_mut().for_each(close),
        Value::Array(members) => members.iter_mut().for_each(close),
        _ => {}
    }
}
