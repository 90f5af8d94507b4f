//! The folders of `src/` import only in the direction in which data flows (docs/architecture.md).

mod source;
mod table;

use std::path::{Path, PathBuf};

use source::{Arrow, arrows, code_only};
use table::{allows, layer};

const LONG: usize = 250;

/// Every Rust file below `src/`, with its text.
fn sources() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![root.clone()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                found.push((path.strip_prefix(&root).unwrap().to_path_buf(), text));
            }
        }
    }
    found.sort();
    found
}

/// What is wrong with one file's imports: `file:line: from -> to`.
fn violations(file: &Path, text: &str) -> Vec<String> {
    let from = layer(file);
    let broken = arrows(text).into_iter().filter(|arrow| !allows(&from, arrow));
    broken.map(|Arrow { line, path, .. }| format!("{}:{line}: {from} -> {path}", file.display())).collect()
}

#[test]
fn no_arrow_runs_back() {
    let sources = sources();
    assert!(sources.len() > 100, "only {} files found", sources.len());
    let counted: usize = sources.iter().map(|(_, text)| arrows(text).len()).sum();
    assert!(counted > 300, "only {counted} imports found: the scan sees too little");
    let broken: Vec<_> = sources.iter().flat_map(|(file, text)| violations(file, text)).collect();
    assert!(
        broken.is_empty(),
        "imports against the direction of docs/architecture.md:\n{}",
        broken.join("\n")
    );
    println!("{counted} imports in {} files", sources.len());
}

#[test]
fn a_planted_arrow_is_found() {
    let planted = [
        ("record/step.rs", "use crate::check::summary::Summary;", "record -> check::summary"),
        ("image/decode.rs", "use crate::{address::RuntimeAddr, record::step};", "image -> record::step"),
        ("handler/entry.rs", "fn f() { crate::listing::text::write(); }", "handler -> listing::text"),
        ("handler/entry.rs", "use crate::event::{attr, choose};", "handler -> event::choose"),
        ("cli/list.rs", "use crate::{\n    handler::entry,\n};", "cli -> handler::entry"),
        ("agent/src/armed.rs", "use overstep::cli::main;", "agent -> cli::main"),
        ("event/open.rs", "use crate::can_trace;", "event -> can_trace"),
        ("newcomer/mod.rs", "use crate::address;", "newcomer -> address"),
    ];
    for (file, text, expected) in planted {
        let found = violations(Path::new(file), text);
        assert_eq!(found.len(), 1, "{file}: {text}: {found:?}");
        assert!(found[0].ends_with(expected), "{found:?} is not {expected}");
    }
}

#[test]
fn comments_strings_and_right_arrows_are_no_violations() {
    let fine = [
        ("record/step.rs", "// use crate::check::summary;\nuse crate::address::RuntimeAddr;"),
        (
            "image/names.rs",
            "const NAME: &str = \"crate::check::tests\"; const C: [char; 3] = ['\"', '\\'', '\\\\'];",
        ),
        ("check/verify.rs", "use crate::{image::decode, record::{step, verdict}};"),
        ("handler/perf.rs", "use crate::event::{attr::point_at, ioctl};"),
        (
            "record/step.rs",
            "/* use crate::check; /* nested */ use crate::cli; */ use crate::record::verdict;",
        ),
    ];
    for (file, text) in fine {
        assert_eq!(violations(Path::new(file), text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn mod_files_hold_no_logic() {
    const LOGIC: [&str; 8] = ["fn", "impl", "struct", "enum", "trait", "static", "const", "macro_rules"];
    let logic = |text: &str| {
        let code = code_only(text);
        code.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| LOGIC.contains(&word))
    };
    assert!(logic("mod a;\nfn b() {}"), "the check sees nothing");
    assert!(!logic("//! const fn in a comment\n#![deny(clippy::panic)]\npub(crate) mod structure;"));
    let broken: Vec<_> = sources()
        .into_iter()
        .filter(|(file, text)| file.ends_with("mod.rs") && logic(text))
        .map(|(file, _)| file)
        .collect();
    assert!(broken.is_empty(), "a mod.rs lists modules and re-exports, nothing else: {broken:?}");
}

/// Not a failure: a file may be long for a reason, but someone should have thought about it.
#[test]
fn long_files_are_named() {
    for (file, text) in sources() {
        let lines = text.lines().count();
        if lines > LONG {
            println!("{}: {lines} lines", file.display());
        }
    }
}
