//! Programs that no one here wrote: two engines on one program differ in nothing that `diff` compares.

use std::path::Path;
use std::process::Command;

use crate::support::{Run, run, skip};

/// A function of it that is entered early, and what makes a run of it repeatable.
const PROGRAMS: [(&str, &str, &[&str]); 5] = [
    ("echo", "fputs_unlocked", &["/bin/echo", "hello"]),
    ("sort", "libc.so.6!strcoll*", &["sort", "/etc/passwd"]),
    ("bash", "libc.so.6!setlocale", &["bash", "-c", "echo hi"]),
    ("perl", "Perl_sv_setpvn", &["perl", "-e", "print \"abc\" x 3"]),
    ("python3", "PyEval_EvalCode", &["python3", "-c", "print(1)"]),
];

const STEPS: &str = "6000";

#[test]
fn two_engines_on_one_program_differ_in_nothing() {
    const TEST: &str = "two_engines";
    if !overstep::can_trace() {
        let _: Option<()> = skip(TEST, "breakpoint events do not work here; see `overstep doctor`");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut compared = 0;
    for (name, function, command) in PROGRAMS {
        if Command::new(command[0]).arg("--version").output().is_err() {
            let _: Option<()> = skip(&format!("{TEST} {name}"), "it is not installed");
            continue;
        }
        let traces = ["breakpoint", "trap-flag"].map(|engine| {
            let trace = directory.path().join(format!("{name}-{engine}.ostrace"));
            (record(engine, function, command, &trace), trace)
        });
        if let Some((refused, _)) = traces.iter().find(|(_, trace)| !trace.exists()) {
            let _: Option<()> = skip(&format!("{TEST} {name}"), refused.stderr.trim());
            continue;
        }
        let [(_, a), (_, b)] = traces;
        let compared_with = run(Command::new(env!("CARGO_BIN_EXE_overstep")).arg("diff").arg(a).arg(b));
        assert_eq!(compared_with.status, Some(0), "{name}: {}", compared_with.stdout);
        let steps = compared_with.stdout.trim_start_matches("the same: ").split(' ').next().unwrap();
        assert!(steps.parse::<u64>().unwrap() > 30, "{name}: {}", compared_with.stdout);
        println!("{name}: {}", compared_with.stdout.trim());
        compared += 1;
    }
    println!("{compared} of {} programs compared", PROGRAMS.len());
}

/// Without randomised addresses and hash seeds, which decide about paths.
fn record(engine: &str, function: &str, command: &[&str], trace: &Path) -> Run {
    let mut overstep = Command::new("setarch");
    overstep.args(["-R", env!("CARGO_BIN_EXE_overstep"), "trace", "-q", "--memory", "--engine", engine]);
    overstep.args(["--into", "all", "--calls", "3", "--max-steps", STEPS, "-f", function, "-o"]).arg(trace);
    overstep.env("PYTHONHASHSEED", "0").env("PERL_HASH_SEED", "0").env_remove("OVERSTEP_AGENT");
    run(overstep.arg("--").args(command).stdin(std::process::Stdio::null()))
}
