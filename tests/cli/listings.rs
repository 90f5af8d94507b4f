//! Listings and comparisons of recorded runs: each needs an execute breakpoint, and says SKIP where there is none.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{GCD, Program, Run, overstep, run, skip};

/// A program with its trace beside it.
struct Recorded {
    program: Program,
    trace: PathBuf,
}

fn record(test: &str, source: &str, function: &str) -> Option<Recorded> {
    let program = Program::compile(test, source, &["-g"])?;
    let trace = program.directory().join("t.ostrace");
    again(test, &program, function, &trace, &[])?;
    Some(Recorded { program, trace })
}

fn again(test: &str, program: &Program, function: &str, trace: &Path, before: &[&str]) -> Option<()> {
    let executable = env!("CARGO_BIN_EXE_overstep");
    let mut command = match before {
        [] => overstep(),
        [first, rest @ ..] => {
            let mut command = Command::new(first);
            command.args(rest).arg(executable);
            command
        }
    };
    command.args(["trace", "-q", "--memory", "--force", "-f", function, "-o"]).arg(trace);
    let recorded = run(command.arg("--").arg(&program.path));
    if recorded.status == Some(125) && recorded.stderr.contains("does not work here") {
        return skip(test, recorded.stderr.trim());
    }
    assert!(trace.exists(), "{recorded:?}");
    Some(())
}

fn list(trace: &Path, options: &[&str]) -> Run {
    run(overstep().arg("list").arg(trace).args(options))
}

#[test]
fn every_format_lists_the_same_steps() {
    let Some(recorded) = record("every_format", GCD, "gcd") else { return };
    let count = |options: &[&str], is_step: &dyn Fn(&str) -> bool| {
        let listed = list(&recorded.trace, options);
        assert_eq!((listed.status, listed.stderr.as_str()), (Some(0), ""), "{options:?}");
        listed.stdout.lines().filter(|line| is_step(line)).count()
    };
    let json = count(&["--format", "json"], &|line| line.starts_with("{\"type\":\"step\""));
    assert!(json > 20, "{json}");
    let starts_with_number =
        |line: &str| line.trim_start().chars().next().is_some_and(|c| c.is_ascii_digit());
    let text = |line: &str| line.starts_with("   ") && starts_with_number(line);
    assert_eq!(count(&[], &text), json);
    assert_eq!(count(&["--format", "markdown", "--markdown", "fenced"], &text), json);
    let cell = |line: &str| line.strip_prefix("| ").is_some_and(starts_with_number);
    assert_eq!(count(&["--format", "markdown"], &cell), json);
    let field = |line: &str| line.split(',').nth(1).is_some_and(starts_with_number);
    assert_eq!(count(&["--format", "csv"], &field), json);
    let row = |line: &str| {
        line.starts_with('\t') || line.starts_with(|c: char| c.is_ascii_digit()) && line.contains('\t')
    };
    assert_eq!(count(&["--format", "html"], &row), json);
}

#[test]
fn source_lines_head_their_rows_or_it_is_said_why_not() {
    let Some(recorded) = record("source_lines", GCD, "gcd") else { return };
    let listed = list(&recorded.trace, &["--source", "--columns", "n,instruction", "--call", "1"]);
    let heading = "a.c:4  __attribute__((noinline, noipa)) long gcd(long a, long b)";
    assert!(listed.stdout.contains(heading), "{}", listed.stdout);
    assert_eq!(listed.stderr, "");
    let json = list(&recorded.trace, &["--source", "--format", "json"]);
    let step: Value = serde_json::from_str(json.stdout.lines().nth(2).unwrap()).unwrap();
    assert_eq!(step["source"], "a.c:4");

    let source = recorded.program.directory().join("a.c");
    let elsewhere = recorded.program.directory().join("moved");
    fs::create_dir(&elsewhere).unwrap();
    fs::rename(&source, elsewhere.join("a.c")).unwrap();
    let listed = list(&recorded.trace, &["--source"]);
    assert_eq!(listed.status, Some(0));
    assert!(listed.stdout.contains("a.c:4\n"), "the line without its text: {}", listed.stdout);
    assert!(listed.stderr.contains("No such file") && listed.stderr.contains("--remap"), "{}", listed.stderr);
    let remap = format!("{}={}", recorded.program.directory().display(), elsewhere.display());
    let listed = list(&recorded.trace, &["--source", "--remap", &remap]);
    assert!(listed.stdout.contains("long gcd(long a, long b)"), "{}", listed.stdout);
    assert!(listed.stdout.contains("a.c:4  ") && !listed.stdout.contains("moved/a.c"), "{}", listed.stdout);
    assert_eq!(listed.stderr, "");

    let other = Program::compile("source_lines", &GCD.replace("+ 1;", "+ 2;"), &["-g"]).unwrap();
    fs::copy(&other.path, &recorded.program.path).unwrap();
    let listed = list(&recorded.trace, &["--source"]);
    assert_eq!(listed.status, Some(0));
    assert!(listed.stderr.contains("it changed since the run (build id then "), "{}", listed.stderr);
    assert_eq!(listed.stderr.lines().count(), 1, "{}", listed.stderr);
}

#[test]
fn a_stripped_program_is_listed_without_lines() {
    const TEST: &str = "a_stripped_program";
    let Some(program) = Program::compile(TEST, GCD, &[]) else { return };
    let trace = program.directory().join("t.ostrace");
    if again(TEST, &program, "gcd", &trace, &[]).is_none() {
        return;
    }
    let listed = list(&trace, &["--source"]);
    assert_eq!(listed.status, Some(0));
    assert!(listed.stdout.contains("idiv"), "{}", listed.stdout);
    assert!(listed.stderr.contains("it has no debug information"), "{}", listed.stderr);
    assert_eq!(listed.stderr.lines().count(), 1, "{}", listed.stderr);
}

#[test]
fn stable_listings_are_the_same_with_and_without_randomised_addresses() {
    const TEST: &str = "stable_listings";
    let Some(recorded) = record(TEST, GCD, "main") else { return };
    let golden = recorded.program.directory().join("golden.md");
    for format in ["text", "markdown", "csv", "json", "html"] {
        let options = ["--stable", "--source", "--collapse-loops", "--format", format];
        let listed = list(&recorded.trace, &options);
        fs::write(&golden, &listed.stdout).unwrap();
        let check = [&options[..], &["--check", golden.to_str().unwrap()]].concat();
        let other = recorded.program.directory().join("other.ostrace");
        for before in [&["setarch", "-R"][..], &[]] {
            if again(TEST, &recorded.program, "main", &other, before).is_none() {
                return;
            }
            assert_ne!(list(&other, &[]).stdout, list(&recorded.trace, &[]).stdout);
            let checked = list(&other, &check);
            assert_eq!((checked.status, checked.stdout.as_str()), (Some(0), ""), "{format} {before:?}");
        }
        fs::write(&golden, listed.stdout.replacen("idiv", "div", 1)).unwrap();
        let checked = list(&other, &check);
        assert_eq!(checked.status, Some(1));
        let changed = |mark| checked.stdout.lines().filter(|line| line.starts_with(mark)).count();
        assert_eq!((changed('-'), changed('+')), (2, 2), "a heading and a line each: {}", checked.stdout);
    }
    let missing = list(&recorded.trace, &["--stable", "--check", "/nowhere/golden.md"]);
    assert_eq!(missing.status, Some(2));
    assert!(missing.stderr.contains("cannot read `/nowhere/golden.md`: No such file"), "{}", missing.stderr);
}

#[test]
fn a_comparison_says_where_and_in_what_runs_differ() {
    const TEST: &str = "a_comparison";
    let Some(recorded) = record(TEST, GCD, "gcd") else { return };
    let other = recorded.program.directory().join("other.ostrace");
    let compared = |options: &[&str], arguments: &[&str]| {
        let mut command = overstep();
        command.args(["trace", "-q", "--force", "-f", "gcd", "-o"]).arg(&other).args(options);
        run(command.arg("--").arg(&recorded.program.path).args(arguments));
        run(overstep().arg("diff").arg(&recorded.trace).arg(&other))
    };
    for options in [&["--engine", "breakpoint"][..], &["--engine", "trap-flag"], &["--step", "block"]] {
        let same = compared(options, &[]);
        assert_eq!(same.status, Some(0), "{options:?}: {}", same.stdout);
        assert!(same.stdout.starts_with("the same: "), "{}", same.stdout);
    }
    let different = compared(&[], &["48", "20"]);
    assert_eq!(different.status, Some(1));
    assert!(
        different.stdout.starts_with("first difference: other values; A call 1 "),
        "{}",
        different.stdout
    );
    assert!(different.stdout.contains("  rsi: 0x12 in A, 0x14 in B\n"), "{}", different.stdout);
    assert!(
        different.stdout.contains("\nthe paths part: control goes another way; "),
        "{}",
        different.stdout
    );
    assert!(different.stdout.contains("\nthe paths meet again from A call "), "{}", different.stdout);
    let missing = run(overstep().arg("diff").arg(&recorded.trace).arg("/nowhere"));
    assert_eq!(missing.status, Some(2));
}

#[test]
fn a_reader_that_leaves_and_a_trace_that_was_cut_are_no_errors() {
    let Some(recorded) = record("a_reader_that_leaves", GCD, "main") else { return };
    for format in ["text", "markdown", "csv", "json", "html"] {
        let mut child = overstep()
            .arg("list")
            .arg(&recorded.trace)
            .args(["--format", format])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{format}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{format}");
    }
    let bytes = fs::read(&recorded.trace).unwrap();
    let cut = recorded.program.directory().join("cut.ostrace");
    // Between two chunks, where nothing is damaged. The header is the first of them.
    let header = (64..bytes.len()).step_by(64).find(|length| {
        fs::write(&cut, &bytes[..*length]).unwrap();
        let listed = list(&cut, &[]);
        listed.status == Some(0) && !listed.stdout.contains("damaged")
    });
    assert!(header.is_some(), "no cut behind the header");
    assert!(list(&cut, &[]).stdout.contains("the file ends before the first row"), "{header:?}");
    // The rows lie in one of the first chunks: what is cut behind them costs names, and inside them rows.
    let mut said = 0;
    for part in 1..8 {
        fs::write(&cut, &bytes[..bytes.len() * part / 8]).unwrap();
        for format in ["text", "markdown", "csv", "json", "html"] {
            let listed = list(&cut, &["--format", format]);
            let header_is_cut = listed.status == Some(2) && listed.stderr.contains("header");
            assert!(listed.status == Some(0) || header_is_cut, "{part} {format}: {listed:?}");
            said += u32::from(listed.stdout.contains("lost: the trace file is damaged"));
        }
    }
    assert!(said >= 5, "no cut was said in every format");
}

#[test]
fn options_that_make_no_sense_say_what_does() {
    let refusals: [(&[&str], &str); 6] = [
        (&["--columns", "adress"], "did you mean `address`?"),
        (&["--format", "htm"], "html"),
        (&["--range", "9..3"], "did you mean 3..9?"),
        (&["--last", "0"], "counts start at 1"),
        (&["--columns", "n", "--format", "json"], "--columns does not apply to JSON"),
        (&["--remap", "a=b"], "--source"),
    ];
    for (options, words) in refusals {
        let refused = list(Path::new("/nowhere.ostrace"), options);
        assert_eq!(refused.status, Some(2), "{options:?}");
        assert!(refused.stderr.contains(words), "{options:?}: {}", refused.stderr);
    }
}

#[test]
fn a_native_call_is_named_though_nothing_of_it_was_recorded() {
    const TEST: &str = "a_native_call_is_named";
    let Some(program) = Program::compile(TEST, GCD, &["-Wl,-z,now"]) else { return };
    let trace = program.directory().join("t.ostrace");
    if again(TEST, &program, "main", &trace, &[]).is_none() {
        return;
    }
    let listed = list(&trace, &[]).stdout;
    let native = listed.lines().find(|line| line.contains("native: printf@plt → "));
    assert!(native.is_some_and(|line| line.contains("printf (libc.so")), "{listed}");
}

#[test]
fn an_indirect_function_is_named_with_what_was_chosen() {
    const TEST: &str = "an_indirect_function";
    const SOURCE: &str = "#include <string.h>\n__attribute__((noinline)) int length(const char *s) { return strlen(s); }\n\
                          int main(int argc, char **argv) { return length(argv[0]) == 0; }\n";
    let Some(program) = Program::compile(TEST, SOURCE, &["-fno-builtin", "-Wl,-z,now"]) else { return };
    let trace = program.directory().join("t.ostrace");
    if again(TEST, &program, "main", &trace, &[]).is_none() {
        return;
    }
    let listed = list(&trace, &[]).stdout;
    assert!(listed.contains("native: strlen@plt → strlen@ifunc → "), "{listed}");
}

/// Text made of an address, copied by functions that run natively.
const COPIES: &str = r#"
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
volatile int sink;
__attribute__((noinline)) int f(void) {
    char text[32], copy[64], *made, *memory;
    size_t length;
    snprintf(text, 32, "%p", (void *)text);
    memcpy(copy, text, 16);
    sink = copy[9];
    sink = strdup(text)[9];
    swab(text, copy + 20, 16);
    sink = copy[29];
    asprintf(&made, "%p", (void *)text);
    sink = made[9];
    FILE *stream = open_memstream(&memory, &length);
    fprintf(stream, "%p", (void *)text);
    fclose(stream);
    sink = memory[9];
    sink = getpid();
    return sink;
}
int main(void) { return f() == 0; }
"#;

#[test]
fn copies_of_what_differs_between_runs_do_not_show() {
    const TEST: &str = "copies";
    // Through the linkage table, through the global offset table, and where nothing is exported.
    for link in [&[][..], &["-fno-plt"], &["-no-pie"]] {
        let flags = [&["-O1", "-fno-builtin"], link].concat();
        let Some(program) = Program::compile(TEST, COPIES, &flags) else { return };
        let listed = || {
            let trace = program.directory().join("t.ostrace");
            again(TEST, &program, "f", &trace, &[])?;
            Some(list(&trace, &["--stable", "--function", "f"]).stdout)
        };
        let (Some(one), Some(other)) = (listed(), listed()) else { return };
        assert_eq!(one, other, "{flags:?}");
        assert!(one.contains("strdup"), "{one}");
        let read: Vec<_> = one.lines().filter(|line| line.contains("read 1 ")).collect();
        assert_eq!(read.len(), 5, "{one}");
        assert!(read.iter().all(|line| line.contains("]=?") && line.contains("→?")), "{one}");
    }
}
