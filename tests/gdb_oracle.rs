//! The same addresses as gdb's `stepi`, in functions of programs that no one here wrote.
//!
//! Both have LD_BIND_NOW set and the agent preloaded, idle under gdb, so that libraries lie at the same addresses, and
//! both start from one environment of one length: a shell's hash tables depend on the order, and vector code for
//! strings takes another path near the end of a page, strings on the stack included.
//! What gdb reports otherwise is folded: it stops once per iteration of a repeated string instruction, and not
//! between a load of ss and the instruction after it.

mod agent_support;
mod common;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use agent_support::agent;
use common::event::instruction;
use common::fixture::Fixture;
use common::program::Program;
use common::run::traced;
use common::skip::{installed, traceable};
use common::way::REFERENCE;
use common::work::{APT, BASH, GIT, PERL, PYTHON, SQLITE, Work, each_work};
use overstep::record::reader::{Entry, StepEntry, Trace};
use tempfile::TempDir;

/// Steps per program.
const STEPS: u64 = 3_000;
/// Of the ignored variants.
const MANY_STEPS: u64 = 100_000;

/// What both sides run: the program with the agent at a path that is the same for both.
fn ready(test: &str, program: Program) -> Option<Program> {
    traceable(test)?;
    installed(test, "gdb")?;
    let agent = agent(test)?;
    Some(program.with("LD_BIND_NOW", "1").with("OVERSTEP_AGENT", agent.to_str()?))
}

/// The addresses that gdb steps through, `steps` of them, from `start` on.
fn gdb(program: &Program, start: &StepEntry, steps: u64, directory: &Path) -> Vec<u64> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/gdb/steps.py");
    let out = directory.join("gdb.steps");
    let mut command = Command::new("gdb");
    command.args(["-nx", "-q", "-batch-silent"]);
    // gdb's own Python, its libraries and the shell that it starts programs with must not see the agent, and the
    // program nothing of theirs.
    let environment = program.environment();
    let mut words: Vec<_> =
        environment.iter().map(|(name, value)| format!("'{name}={}'", value.display())).collect();
    words.push(format!("'LD_PRELOAD={}'", environment["OVERSTEP_AGENT"].display()));
    words.push(format!("OVERSTEP_SESSION=1:{}:3:4", no_process(start.thread)));
    command.arg("-ex").arg(format!("set exec-wrapper env -i {}", words.join(" ")));
    command.arg("-x").arg(script).arg("--args").arg(&program.path).args(&program.arguments);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("STEPS_AT", format!("{:x}", start.address)).env("STEPS", steps.to_string());
    command.env("STEPS_HIT", start.call.to_string()).env("STEPS_TO", &out).stdin(Stdio::null());
    let output = command.output().expect("gdb starts");
    let text =
        fs::read_to_string(&out).unwrap_or_else(|error| panic!("gdb wrote nothing: {error}\n{output:?}"));
    text.lines().map(|line| u64::from_str_radix(line, 16).expect("an address")).collect()
}

/// A process that does not exist, with as many digits as `pid`: the agent finds nobody to record for, and leaves the
/// environment and the stack as it does under `overstep trace`.
fn no_process(pid: u32) -> u32 {
    let digits = pid.ilog10();
    let of_that_length = 10_u32.pow(digits)..10_u32.pow(digits + 1);
    of_that_length.rev().find(|pid| !Path::new(&format!("/proc/{pid}")).exists()).expect("a free number")
}

fn rows(trace: &Trace) -> Vec<StepEntry> {
    let entries = trace.threads().iter().flat_map(|thread| trace.entries(*thread));
    entries.filter_map(|entry| if let Entry::Step(step) = entry { Some(step) } else { None }).collect()
}

/// `mov ss,…` (8e /2): holds off the trap that would report the next instruction.
fn loads_ss(bytes: &[u8]) -> bool {
    matches!(bytes, [0x8e, modrm, ..] if modrm >> 3 & 7 == 2)
}

/// Holds the rows against gdb's addresses; how many rows were confirmed.
fn confirm(trace: &Trace, rows: &[StepEntry], addresses: &[u64]) -> Result<usize, String> {
    let mut seen = addresses.iter().copied().peekable();
    let mut hidden = false;
    for (index, row) in rows.iter().enumerate() {
        if !std::mem::replace(&mut hidden, loads_ss(instruction(trace, row))) {
            match seen.next() {
                None => return Ok(index),
                Some(address) if address == row.address.0 => {}
                Some(address) => {
                    return Err(format!("row {}: {:x?}, but gdb was at {address:#x}", index + 1, row));
                }
            }
        }
        let further = row.count.unwrap_or(1).saturating_sub(1);
        for iteration in 0..further {
            match seen.next_if_eq(&row.address.0) {
                Some(_) => {}
                None if seen.peek().is_none() => return Ok(index),
                None => {
                    return Err(format!(
                        "row {}: {} iterations, gdb saw {}",
                        index + 1,
                        further + 1,
                        iteration + 1
                    ));
                }
            }
        }
    }
    Ok(rows.len())
}

fn agree(test: &str, program: Program, options: &[&str], steps: u64) {
    let Some(program) = ready(test, program) else { return };
    let directory = TempDir::new().expect("a temporary directory");
    let run = traced(&program, options, REFERENCE, directory.path());
    let rows = rows(&run.trace);
    let start = rows.first().unwrap_or_else(|| panic!("{test}: nothing was traced\n{}", run.stderr));
    let addresses = gdb(&program, start, steps, directory.path());
    let confirmed = confirm(&run.trace, &rows, &addresses).unwrap_or_else(|error| panic!("{test}: {error}"));
    println!("{test}: {confirmed} rows of {} confirmed by {} stops of gdb", rows.len(), addresses.len());
    assert!(confirmed as u64 * 2 > steps.min(rows.len() as u64), "{test}: only {confirmed} rows confirmed");
}

fn agree_at_work(test: &str, work: &Work, steps: u64) {
    let directory = TempDir::new().expect("a temporary directory");
    let Some(program) = work.prepare(test, steps, &directory) else { return };
    // Python's own allocator goes by the alignment of what mmap(2) gives, and the trace's window moves that.
    let program = program.with("PYTHONMALLOC", "malloc");
    let limit = steps.to_string();
    let options =
        ["-f", work.function, "--nth", work.nth, "--calls", "1", "--into", "all", "--max-steps", &limit];
    agree(test, program, &options, steps);
}

/// A fixture's first case, all of it.
fn agree_on_fixture(file: &str, steps: u64) {
    for built in Fixture::read(file).build(file) {
        agree(file, Program::new(&built.path, &[]), &["-f", "traced", "--into", "all"], steps);
    }
}

macro_rules! programs {
    ($($name:ident $many:ident: $work:ident,)*) => {$(
        #[test]
        fn $name() {
            agree_at_work(stringify!($name), &$work, STEPS);
        }

        #[test]
        #[ignore = "a hundred thousand steps of gdb, minutes"]
        fn $many() {
            agree_at_work(stringify!($many), &$work, MANY_STEPS);
        }
    )*};
}

each_work!(programs);

#[test]
fn repeated_strings() {
    agree_on_fixture("strings.s", 200);
}

#[test]
fn conditions() {
    agree_on_fixture("conditions.s", 288);
}

#[test]
fn system_calls() {
    agree_on_fixture("syscalls.s", 22);
}

#[test]
fn loads_of_ss() {
    agree_on_fixture("shadows.s", 14);
}

#[test]
fn far_transfers() {
    agree_on_fixture("far.s", 32);
}
