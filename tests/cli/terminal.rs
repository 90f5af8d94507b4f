//! On a terminal: progress for what takes over a second, gone at the end.

use std::process::Command;

use crate::support::{Program, run, skip};

/// The traced function runs for a second and a half, in few instructions.
const SLOW: &str = "
#include <stdio.h>
#include <time.h>
__attribute__((noinline)) void slow(void) {
    struct timespec rest = {1, 500000000};
    while (nanosleep(&rest, &rest)) {}
}
int main(void) { slow(); puts(\"done\"); }
";
/// What takes the line away again (ECMA-48, EL).
const ERASE: &str = "\u{1b}[2K";

#[test]
fn a_run_of_over_a_second_shows_progress_and_takes_it_away() {
    let test = "a_run_of_over_a_second_shows_progress_and_takes_it_away";
    let Some(program) = Program::compile(test, SLOW, &[]) else { return };
    let overstep = env!("CARGO_BIN_EXE_overstep");
    let on_terminal = |quiet: &str| {
        let path = program.path.display();
        let line = format!("{overstep} trace {quiet} -f slow -o {path}.ostrace --force -- {path} >/dev/null");
        // script(1) gives it a terminal, and says what was shown there.
        run(Command::new("script")
            .args(["-qec", &line, "/dev/null"])
            .env_remove("OVERSTEP_AGENT")
            .env("TERM", "xterm"))
    };
    if Command::new("script").arg("--version").output().is_err() {
        return skip(test, "no script(1)").unwrap_or_default();
    }
    let shown = on_terminal("").stdout;
    assert!(shown.contains("1 entry traced, "), "{shown:?}");
    let line_ends = shown.rfind("entry traced").unwrap_or_default();
    assert!(shown[line_ends..].contains(ERASE), "{shown:?}");
    let quiet = on_terminal("--quiet");
    assert_eq!((quiet.stdout.as_str(), quiet.status), ("", Some(0)), "{quiet:?}");
}
