//! Whole runs: each needs an execute breakpoint, and says SKIP where there is none.

use std::fs;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{GCD, Program, Run, overstep, run, skip};

/// The program of this test, where it can be traced.
fn traceable(test: &str, source: &str) -> Option<Program> {
    let program = Program::compile(test, source, &[])?;
    let kept = program.directory().join("probe.ostrace");
    let mut probe = overstep();
    probe.args(["trace", "-q", "-f", "main", "-o"]).arg(kept).arg("--").arg(&program.path);
    let probe = run(&mut probe);
    if probe.status == Some(125) && probe.stderr.contains("does not work here") {
        return skip(test, probe.stderr.trim());
    }
    Some(program)
}

fn trace(options: &[&str], program: &Path, arguments: &[&str]) -> Run {
    run(overstep().arg("trace").args(options).arg("--").arg(program).args(arguments))
}

/// Of a JSON listing, the objects of one type.
fn objects(listing: &str, kind: &str) -> Vec<Value> {
    let lines = listing.lines().filter(|line| line.starts_with('{'));
    let objects = lines.map(|line| serde_json::from_str::<Value>(line).expect("a JSON object a line"));
    objects.filter(|object| object["type"] == kind).collect()
}

#[test]
fn the_listing_follows_the_programs_output_and_keeps_its_status() {
    let Some(program) = traceable("the_listing_follows", GCD) else { return };
    let traced = trace(&["-f", "gcd", "--calls", "1"], &program.path, &["48", "18"]);
    assert_eq!(traced.status, Some(7), "{traced:?}");
    let mut lines = traced.stdout.lines();
    assert_eq!(lines.next(), Some("6 2"), "the program's own output comes first");
    assert!(traced.stdout.contains("call 1: gcd (a.out+0x"), "{}", traced.stdout);
    assert!(traced.stdout.contains("idiv"), "{}", traced.stdout);
    assert!(traced.stdout.contains("rax 0x6 (6)"), "the result: {}", traced.stdout);
    assert!(!traced.stdout.contains('\x1b'), "no colour into a pipe");
    assert!(traced.stderr.contains("entered 3, traced 1"), "{}", traced.stderr);
}

/// The numbers of the tracer's own signals, used by the program.
#[test]
fn the_tracers_signals_are_the_programs_as_well() {
    const SOURCE: &str = include_str!("../../fixtures/handler/own_signals.c");
    let Some(program) = traceable("the_tracers_signals", SOURCE) else { return };
    let kept = program.directory().join("kept.ostrace");
    let kept = kept.to_str().expect("UTF-8");
    let of_fasync = [libc::SIGIO.to_string(), overstep::session::arm::FASYNC_SIGNAL.to_string()];
    for signals in [&[][..], &of_fasync] {
        let signals: Vec<_> = signals.iter().map(String::as_str).collect();
        let untraced = run(Command::new(&program.path).args(&signals));
        let calls = if signals.is_empty() { 6 } else { 4 };
        for way in [&["--delivery", "sigtrap"][..], &["--delivery", "fasync"], &["--engine", "trap-flag"]] {
            for (into, traced_calls) in [("module", calls), ("all", calls), ("none", calls), ("all", 1)] {
                let only = traced_calls.to_string();
                let options = ["-f", "traced", "--into", into, "--calls", &only, "-qo", kept, "--force"];
                let traced = trace(&[way, &options].concat(), &program.path, &signals);
                assert_eq!(
                    (traced.status, &traced.stdout),
                    (untraced.status, &untraced.stdout),
                    "{traced:?}"
                );
                let listed = run(overstep().args(["list", "--format", "json", kept]));
                let handlers = objects(&listed.stdout, "marker").into_iter();
                let handlers = handlers.filter(|marker| marker["kind"] == "signal").count();
                assert_eq!(handlers, 5 * traced_calls, "{way:?}, --into {into}: each call raises five");
                let summary = &objects(&listed.stdout, "summary")[0];
                assert_eq!(
                    (&summary["lost"], &summary["entered"]),
                    (&0.into(), &calls.into()),
                    "{summary:?}"
                );
            }
        }
    }
}

/// Calls a function that the agent stands in front of, and raises the signal whose handler it set.
const INTERPOSED: &str = "
#include <signal.h>
#include <stdio.h>
static volatile int got;
static void mine(int signal) { got += signal == SIGUSR1; }
__attribute__((noinline)) int f(void) {
    struct sigaction action = {.sa_handler = mine}, before;
    sigaction(SIGUSR1, &action, &before);
    raise(SIGUSR1);
    sigaction(SIGUSR1, &before, &action);
    return got + (action.sa_handler == mine);
}
int main(void) { printf(\"%d\\n\", f()); return 0; }
";

#[test]
fn the_agent_that_the_executable_carries_is_never_stepped() {
    let Some(program) = traceable("the_agent_is_never_stepped", INTERPOSED) else { return };
    let mut command = overstep();
    command
        .env_remove("OVERSTEP_AGENT")
        .args(["trace", "-f", "f", "--into", "all", "--format", "json", "--"]);
    let traced = run(command.arg(&program.path));
    assert_eq!((traced.status, traced.stdout.lines().next()), (Some(0), Some("2")), "{traced:?}");
    let steps = objects(&traced.stdout, "step");
    assert!(steps.len() > 100, "raise is stepped, too: {}", steps.len());
    for step in &steps {
        // The agent's memfd has no name that a module could be read by.
        assert!(step["module"].is_string(), "{step}");
    }
}

#[test]
fn every_call_is_traced_and_every_step_is_exact() {
    let Some(program) = traceable("every_call_is_traced", GCD) else { return };
    let traced = trace(&["-f", "gcd", "--format", "json"], &program.path, &["48", "18"]);
    assert_eq!(traced.status, Some(7), "{traced:?}");
    let steps = objects(&traced.stdout, "step");
    assert!(steps.len() > 20, "{}", steps.len());
    for step in &steps {
        assert_eq!(step["verdict"], "exact", "{step}");
    }
    let enters: Vec<_> =
        objects(&traced.stdout, "marker").into_iter().filter(|marker| marker["kind"] == "enter").collect();
    let arguments: Vec<_> =
        enters.iter().map(|enter| (enter["regs"]["rdi"].as_str(), enter["regs"]["rsi"].as_str())).collect();
    assert_eq!(
        arguments,
        [(Some("0x30"), Some("0x12")), (Some("0x30"), Some("0x12")), (Some("0x6"), Some("0x5"))]
    );
    let [summary] = &*objects(&traced.stdout, "summary") else { panic!("one summary: {}", traced.stdout) };
    assert_eq!((&summary["entered"], &summary["traced"]), (&Value::from(3), &Value::from(3)));
    assert_eq!(summary["steps"], Value::from(steps.len()));
    assert_eq!(summary["all_expected"], true);
}

#[test]
fn a_kept_trace_leaves_stdout_to_the_program_and_can_be_listed_and_checked() {
    let Some(program) = traceable("a_kept_trace", GCD) else { return };
    let file = program.directory().join("t.ostrace");
    let path = file.to_str().expect("a UTF-8 path");
    let traced = trace(&["-f", "gcd", "-o", path], &program.path, &["48", "18"]);
    assert_eq!((traced.status, &*traced.stdout), (Some(7), "6 2\n"), "{traced:?}");
    assert!(traced.stderr.contains(path), "says where it is: {}", traced.stderr);

    let listed = run(overstep().arg("list").arg(&file));
    assert_eq!(listed.status, Some(0), "{listed:?}");
    assert!(listed.stdout.contains("call 3: gcd"), "{}", listed.stdout);
    let checked = run(overstep().arg("check").arg(&file));
    assert_eq!(checked.status, Some(0), "{checked:?}");
    assert!(checked.stdout.contains("0 findings"), "{}", checked.stdout);

    assert_eq!(trace(&["-f", "gcd", "-o", path], &program.path, &[]).status, Some(125), "not overwritten");
    assert_eq!(trace(&["-f", "gcd", "-o", path, "--force"], &program.path, &[]).status, Some(7));
}

#[test]
fn engines_agree_on_the_rows() {
    let Some(program) = traceable("engines_agree", GCD) else { return };
    let ways: [&[&str]; 4] = [
        &["--engine", "breakpoint", "--delivery", "sigtrap"],
        &["--engine", "breakpoint", "--delivery", "fasync"],
        &["--engine", "trap-flag"],
        &["--step", "block"],
    ];
    let rows = |options: &[&str]| {
        let options = [&["-f", "gcd", "--format", "json"], options].concat();
        let traced = trace(&options, &program.path, &["1071", "462"]);
        assert_eq!(traced.status, Some(7), "{options:?}: {}", traced.stderr);
        let steps = objects(&traced.stdout, "step").into_iter();
        steps.map(|step| format!("{} {} {}", step["call"], step["offset"], step["text"])).collect::<Vec<_>>()
    };
    let first = rows(ways[0]);
    assert!(!first.is_empty());
    for way in &ways[1..] {
        assert_eq!(rows(way), first, "{way:?}");
    }
}

/// The calls that have rows, and the number of rows.
fn calls(program: &Program, options: &[&str]) -> (Vec<u64>, usize) {
    let options = [&["-f", "gcd", "--format", "json"], options].concat();
    let traced = trace(&options, &program.path, &["48", "18"]);
    assert_eq!(traced.status, Some(7), "{traced:?}");
    let mut calls: Vec<_> =
        objects(&traced.stdout, "step").iter().filter_map(|step| step["call"].as_u64()).collect();
    let steps = calls.len();
    calls.dedup();
    (calls, steps)
}

#[test]
fn counts_and_limits_choose_calls_and_steps() {
    let source = GCD.replace("long two =", "gcd(b, a); gcd(a + 1, b); long two =");
    let source = source.replace("gcd_of_three(a, b, 5);", "1;");
    let Some(program) = traceable("counts_and_limits", &source) else { return };
    assert_eq!(calls(&program, &["--nth", "2"]).0, [2, 3]);
    assert_eq!(calls(&program, &["--nth", "2", "--calls", "1"]).0, [2]);
    assert_eq!(calls(&program, &["--calls", "1", "--max-steps", "5"]), (vec![1], 5));
}

#[test]
fn calls_are_counted_from_any_depth() {
    let Some(program) = traceable("calls_from_any_depth", GCD) else { return };
    assert_eq!(calls(&program, &["--nth", "2"]).0, [2, 3]);
}

#[test]
fn a_program_that_never_calls_it_is_said_and_keeps_its_status() {
    let source = "int f(int x) { return x + 1; } int main(int c, char **v) { return c > 9 ? f(c) : 5; }";
    let Some(program) = traceable("never_calls", source) else { return };
    let traced = run(overstep().args(["trace", "-f", "f", "--"]).arg(&program.path));
    assert_eq!((traced.status, &*traced.stdout), (Some(5), ""), "{traced:?}");
    assert!(traced.stderr.contains("`f` was never called"), "{}", traced.stderr);
    let strict = run(overstep().args(["trace", "--strict", "-f", "f", "--"]).arg(&program.path));
    assert_eq!(strict.status, Some(124), "nothing traced proves nothing");
}

const SIGNALS: &str = "
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) int f(int x) { return x * 2; }
int main(int argc, char **argv) {
    volatile int y = f(argc);
    write(1, \"ready\\n\", 6);
    if (argc > 1) {
        signal(atoi(argv[1]), SIG_DFL); /* whoever runs the tests in the background ignores SIGINT */
        raise(atoi(argv[1]));
    }
    pause();
    return y;
}
";

#[test]
fn a_function_that_the_programs_own_resolver_chose_is_traced() {
    const SOURCE: &str = "
static long chosen(long x) { return 3 * x; }
static void *resolve(void) { return chosen; }
long indirect(long) __attribute__((ifunc(\"resolve\")));
int main(void) { long (*volatile pointer)(long) = indirect; return indirect(1) + pointer(2); }
";
    for flags in [&[][..], &["-Wl,-z,now", "-fno-plt"], &["-no-pie"]] {
        if traceable("a_function_that_the_programs_own", SOURCE).is_none() {
            return;
        }
        let Some(program) = Program::compile("a_function_that", SOURCE, flags) else { continue };
        let traced = trace(&["-f", "indirect"], &program.path, &[]);
        assert_eq!(traced.status, Some(9), "{flags:?}: {traced:?}");
        assert!(traced.stderr.contains("entered 2, traced 2"), "{flags:?}: {traced:?}");
        assert!(traced.stdout.contains("chosen"), "{flags:?}: {traced:?}");
    }
}

/// What comes with dlopen is the agent's to judge, while the program runs.
#[test]
fn what_a_library_brings_too_much_or_at_no_instruction_is_said_and_nothing_is_traced() {
    const TEST: &str = "what_a_library_brings";
    const LIBRARY: &str = "int abc_1(int n) { return 3 * n + 1; } int abc_2(int n) { return n; } int abc_3(int n) { return n; }";
    const PROGRAM: &str = "
#include <dlfcn.h>
int main(int argc, char **argv) {
    void *library = dlopen(argv[1], RTLD_NOW);
    int (*f)(int) = (int (*)(int))dlsym(library, \"abc_1\");
    return f(2);
}
";
    let Some(program) = traceable_without_run(TEST, PROGRAM) else { return };
    let Some(library) = Program::compile(TEST, LIBRARY, &["-shared", "-fPIC"]) else { return };
    let path = library.directory().join("libabc.so");
    fs::rename(&library.path, &path).expect("the library is renamed");
    let elf = overstep::image::elf::Elf::open(&path).expect("an ELF file");
    let path = path.to_str().expect("UTF-8");
    let many = trace(&["-f", "abc_*"], &program.path, &[path]);
    assert_eq!(many.status, Some(7), "the program's own status: {many:?}");
    assert!(many.stderr.contains("3 functions match `abc_*`, and only 2 can be watched"), "{many:?}");
    assert!(many.stderr.contains("narrow it") && !many.stderr.contains("doctor"), "{many:?}");
    let one = trace(&["-f", "abc_1"], &program.path, &[path]);
    assert_eq!(one.status, Some(7), "{one:?}");
    assert!(one.stderr.contains("entered 1, traced 1"), "{one:?}");
    let symbols = overstep::image::symbols::SymbolTable::of(&elf);
    let abc = symbols.symbols().iter().find(|symbol| symbol.raw() == "abc_1").expect("it is there").address;
    let inside = trace(&["-f", &format!("libabc.so+{:#x}", abc.0 + 1)], &program.path, &[path]);
    assert!(inside.stderr.contains("is not the start of an instruction"), "{inside:?}");
}

#[test]
fn a_program_killed_by_a_signal_takes_overstep_with_it() {
    let Some(program) = traceable_without_run("killed_by_a_signal", SIGNALS) else { return };
    for signal in [9, 15, 2, 6, 11, 8] {
        let mut command = overstep();
        command.args(["trace", "-f", "f", "--"]).arg(&program.path).arg(signal.to_string());
        let output = command.output().expect("overstep starts");
        assert_eq!(output.status.signal(), Some(signal), "{output:?}");
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert!(stdout.contains("call 1: f"), "what was recorded is listed: {stdout}");
    }
}

/// As [`traceable`], for a program that does not end by itself.
fn traceable_without_run(test: &str, source: &str) -> Option<Program> {
    traceable(test, GCD)?;
    Program::compile(test, source, &[])
}

#[test]
fn sigterm_reaches_the_program_and_what_was_recorded_is_listed() {
    let Some(program) = traceable_without_run("sigterm_reaches", SIGNALS) else { return };
    let mut child = overstep()
        .args(["trace", "-f", "f", "--"])
        .arg(&program.path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("overstep starts");
    let mut stdout = child.stdout.take().expect("a pipe");
    let mut ready = [0; 6];
    stdout.read_exact(&mut ready).expect("the program says that it runs");
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    assert!(killed.success());
    let killed = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().expect("kill runs");
    assert!(killed.success());
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).expect("the listing");
    assert!(rest.contains("call 1: f"), "{rest}");
    let status = child.wait().expect("overstep ends");
    assert_eq!(status.signal(), Some(15), "SIGINT was ignored, SIGTERM forwarded: {status:?}");
}

#[test]
fn the_program_sees_its_environment_and_descriptors_as_untraced() {
    let Some(_) = traceable("as_untraced", GCD) else { return };
    let script = "env | grep -v '^_='; ls -l /proc/self/fd | awk '{print $9, $10}' | grep -v /proc; \
                  grep -E '^Sig(Blk|Ign)' /proc/self/status | sed -E 's/[0-9a-f]{8}([0-9a-f]{8})$/\\1/'";
    let untraced = run(Command::new("sh").args(["-c", script]).env("NO_COLOR", "1"));
    let mut command = overstep();
    command.args(["trace", "-q", "-f", "no_such_function", "--", "sh", "-c", script]);
    command.env_remove("OVERSTEP_AGENT");
    let traced = run(&mut command);
    assert_eq!(traced.status, untraced.status, "{traced:?}");
    assert_eq!(traced.stdout, untraced.stdout);
}

#[test]
fn a_closed_stdout_and_a_reader_that_left_keep_the_programs_status() {
    let Some(program) = traceable("a_closed_stdout", GCD) else { return };
    let overstep_path = env!("CARGO_BIN_EXE_overstep");
    let path = program.path.display();
    for (redirection, status) in [(">&-", "125 or 7"), ("2>&-", "7"), ("<&-", "7"), ("| true", "0")] {
        let script = format!("{overstep_path} trace -f gcd -- {path} {redirection}");
        let shell = run(Command::new("sh").args(["-c", &script]));
        let found = shell.status.map(|status| status.to_string()).unwrap_or_default();
        assert!(status.split(" or ").any(|it| it == found), "{redirection}: {shell:?}");
    }
}

#[test]
fn a_file_limit_ends_the_trace_and_not_the_program() {
    let Some(program) = traceable("a_file_limit", GCD) else { return };
    let overstep_path = env!("CARGO_BIN_EXE_overstep");
    let file = program.directory().join("limited.ostrace");
    // In blocks of 512 or 1024 bytes: less than a trace file starts with.
    let script = format!(
        "ulimit -f 4; {overstep_path} trace -f gcd -o {} -- {}",
        file.display(),
        program.path.display()
    );
    let limited = run(Command::new("sh").args(["-c", &script]));
    assert_eq!(limited.status, Some(125), "{limited:?}");
    assert!(limited.stderr.contains("ulimit -f"), "{}", limited.stderr);
    assert!(fs::metadata(&file).is_err(), "nothing half made is left");
}
