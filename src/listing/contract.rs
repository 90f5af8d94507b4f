//! JSON lines against `docs/trace.schema.json`.

use std::path::Path;

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::{Value, json};

use super::golden::real_runs;

struct Contract(Schemas, SchemaIndex);

impl Contract {
    /// Lines of recorded values.
    fn new() -> Self {
        Self::of("#/$defs/recorded")
    }

    /// Lines of either kind.
    fn any() -> Self {
        Self::of("")
    }

    /// Lines of `--stable`.
    fn stable() -> Self {
        Self::of("#/$defs/stable")
    }

    fn of(fragment: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/trace.schema.json");
        let mut schemas = Schemas::new();
        let place = format!("{}{fragment}", path.display());
        let index = Compiler::new().compile(&place, &mut schemas).unwrap();
        Self(schemas, index)
    }

    fn refusal(&self, line: &Value) -> Option<String> {
        self.0.validate(line, self.1).err().map(|refusal| format!("{refusal:#}"))
    }
}

#[test]
fn golden_lines_keep_the_contract() {
    keep(&Contract::new(), &["gcd.jsonl", "mixed.jsonl", "unreturned.jsonl"]);
    keep(&Contract::stable(), &["mixed-stable.jsonl"]);
    keep(&Contract::any(), &["gcd.jsonl", "mixed.jsonl", "unreturned.jsonl", "mixed-stable.jsonl"]);
}

#[test]
fn listings_of_real_runs_keep_the_contract() {
    let contract = Contract::stable();
    let mut files = 0;
    for (path, text) in real_runs("jsonl") {
        for (number, line) in text.lines().enumerate() {
            let line: Value = serde_json::from_str(line).unwrap();
            assert_eq!(contract.refusal(&line), None, "{}, line {}", path.display(), number + 1);
        }
        files += 1;
    }
    assert!(files > 30, "{files} listings");
}

fn keep(contract: &Contract, names: &[&str]) {
    let mut types = std::collections::BTreeSet::new();
    for name in names {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/listing").join(name);
        for (number, line) in std::fs::read_to_string(path).unwrap().lines().enumerate() {
            let line: Value = serde_json::from_str(line).unwrap();
            assert_eq!(contract.refusal(&line), None, "{name}, line {}", number + 1);
            types.insert(line["type"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(types.into_iter().collect::<Vec<_>>(), ["header", "marker", "step", "summary"]);
}

#[test]
fn recorded_and_stable_lines_are_told_apart() {
    let golden = |name| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/listing").join(name);
        let text = std::fs::read_to_string(path).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>()
    };
    let (contract, stable) = (Contract::new(), Contract::stable());
    let header = |name| golden(name).into_iter().next().unwrap();
    assert!(contract.refusal(&header("mixed-stable.jsonl")).is_some());
    assert!(stable.refusal(&header("mixed.jsonl")).is_some());
    let steps: Vec<_> =
        golden("mixed-stable.jsonl").into_iter().filter(|line| line["type"] == "step").collect();
    assert!(steps.iter().all(|step| contract.refusal(step).is_some()), "an address by region is no number");
    let mut step = steps[0].clone();
    step["verdict"] = json!("exact");
    assert!(stable.refusal(&step).is_some(), "a verdict depends on the engine");
}

/// A step as the contract gives it for an example.
fn sample() -> Value {
    json!({
        "type": "step", "call": 1, "n": 1, "thread": 123, "depth": 0, "address": "0x555555555139",
        "module": "a.out", "offset": "0x1139", "symbol": "gcd", "symbol_offset": 0, "bytes": "4889f8",
        "text": "mov rax,rdi", "count": 1, "regs": {"rax": "0x30"},
        "memory": [{"access": "read", "address": "0x7ffd1b2c3d48", "size": 8, "value": "0x1"}],
        "source": "gcd.c:7", "verdict": "exact"
    })
}

#[test]
fn the_contract_refuses_what_breaks_it() {
    let contract = Contract::new();
    assert_eq!(contract.refusal(&sample()), None);
    let breaks: [(&str, Value); 7] = [
        ("verdict", json!("perfect")),
        ("address", json!(4096)),
        ("address", json!("4096")),
        ("n", json!(0)),
        ("bytes", json!("488")),
        ("regs", json!({"eax": "0x1"})),
        ("memory", json!([{"access": "read"}])),
    ];
    for (field, value) in breaks {
        let mut line = sample();
        line[field] = value.clone();
        assert!(contract.refusal(&line).is_some(), "{field}: {value} passed");
    }
    for field in ["type", "call", "n", "address", "text", "verdict", "count", "bytes"] {
        let mut line = sample();
        line.as_object_mut().unwrap().remove(field);
        assert!(contract.refusal(&line).is_some(), "a step without {field} passed");
    }
}
