//! Source lines and inlined functions, by the debug information of a compiled program.

use std::path::Path;

use crate::support::{Program, Run, overstep, run, skip};

/// Line numbers matter here.
const SOURCE: &str = "\
#include <stdio.h>
static inline __attribute__((always_inline)) long twice(long a) {
    return a * 2 + (a >> 3);
}
__attribute__((noinline, noipa)) long gcd(long a, long b) {
    while (b) { long t = a % b;
        a = b; b = t; }
    return a;
}
/* nothing */
__attribute__((noinline, noipa)) long sum(long a) { return twice(a) + 1; }
int main(int argc, char **argv) {
    printf(\"%ld\\n\", gcd(48, 17 + argc) + sum(argc) + twice((long)argv));
    return 7;
}
";

fn trace(function: &str, program: &Path) -> Run {
    run(overstep().args(["trace", "--calls", "1", "-f", function, "--"]).arg(program))
}

fn program(test: &str) -> Option<Program> {
    Program::compile(test, SOURCE, &["-g"])
}

#[test]
fn a_line_traces_the_function_it_is_in() {
    const TEST: &str = "a_line_traces_the_function";
    let Some(program) = program(TEST) else { return };
    for (line, inside) in [("a.c:5", false), ("a.c:7", true)] {
        let traced = trace(line, &program.path);
        if traced.status == Some(125) && traced.stderr.contains("does not work here") {
            skip::<()>(TEST, traced.stderr.trim());
            return;
        }
        assert_eq!(traced.status, Some(7), "{line}: {traced:?}");
        assert!(traced.stdout.contains("call 1: gcd (a.out+0x"), "{line}: {}", traced.stdout);
        let told = traced.stderr.contains(&format!("`{line}` is in `gcd`: tracing `gcd` from its entry"));
        assert_eq!(told, inside, "{line}: {}", traced.stderr);
    }
}

#[test]
fn a_line_without_code_names_the_nearest_that_have_some() {
    let Some(program) = program("a_line_without_code") else { return };
    let refused = trace("a.c:10", &program.path);
    assert_eq!(refused.status, Some(125), "{refused:?}");
    assert!(refused.stderr.contains("line 10"), "{}", refused.stderr);
    assert!(refused.stderr.contains("have some: 8, 11") || refused.stderr.contains("have some: 9, 11"));
    assert_eq!(refused.stdout, "", "it was not started");

    let refused = trace("b.c:5", &program.path);
    assert_eq!(refused.status, Some(125), "{refused:?}");
    assert!(refused.stderr.contains("did you mean `a.c`?"), "{}", refused.stderr);
}

#[test]
fn without_debug_information_a_line_is_refused_with_the_remedy() {
    let Some(program) = Program::compile("without_debug_information", SOURCE, &["-g0"]) else { return };
    let refused = trace("a.c:5", &program.path);
    assert_eq!(refused.status, Some(125), "{refused:?}");
    assert!(refused.stderr.contains("`a.out` has no debug information"), "{}", refused.stderr);
    assert!(refused.stderr.contains("compile with -g"), "{}", refused.stderr);
}

#[test]
fn an_inlined_function_is_refused_with_its_callers() {
    let Some(program) = program("an_inlined_function") else { return };
    let refused = trace("twice", &program.path);
    assert_eq!(refused.status, Some(125), "{refused:?}");
    let expected = "`twice` is inlined everywhere; it has no code of its own: in main (a.c:13), sum (a.c:11)";
    assert!(refused.stderr.contains(expected), "{}", refused.stderr);
    assert!(refused.stderr.contains("-f 'main'"), "{}", refused.stderr);
    assert!(refused.stderr.contains("-fno-inline"), "{}", refused.stderr);
    assert_eq!(refused.stdout, "", "it was not started");

    let missed = run(overstep().arg("symbols").arg(&program.path).arg("twice"));
    assert_eq!(missed.status, Some(1), "{missed:?}");
    assert!(missed.stderr.contains(expected), "{}", missed.stderr);
}

#[test]
fn symbols_shows_the_functions_of_a_line() {
    let Some(program) = program("symbols_shows_the_functions") else { return };
    let names = |pattern: &str| {
        let listed = run(overstep().arg("symbols").arg(&program.path).arg(pattern));
        assert_eq!(listed.status, Some(0), "{listed:?}");
        let mut names: Vec<_> = listed
            .stdout
            .lines()
            .skip(1)
            .filter_map(|row| row.split_whitespace().last().map(str::to_owned))
            .collect();
        names.sort();
        names
    };
    assert_eq!(names("a.c:7"), ["gcd"]);
    assert_eq!(names("a.c:3"), ["main", "sum"], "inlined into both");
}
