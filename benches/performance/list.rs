//! How fast a trace becomes a listing, and what memory that takes.

use std::path::Path;
use std::process::{Command, Stdio};

use overstep::check::summary::Summary;
use overstep::record::reader::Trace;

use crate::line::{self, Target};
use crate::selection::Selection;
use crate::{clock, command, size};

const ROUNDS: usize = 5;

/// Rounds of the workload: 1.7 million rows.
const AMOUNT: usize = 1450;

/// Each line, the options it lists with, and what is wanted of it.
const LINES: [(&str, &[&str], Target); 7] = [
    ("list/text", &[], Target::AtLeast(500_000.0)),
    ("list/collapsed", &["--collapse-loops"], Target::None),
    ("list/stable", &["--stable"], Target::None),
    ("list/markdown", &["--format", "markdown"], Target::None),
    ("list/csv", &["--format", "csv"], Target::None),
    ("list/json", &["--format", "json"], Target::None),
    ("list/html", &["--format", "html"], Target::None),
];

/// The trace is in memory once, and what a listing adds to it does not grow with it.
const MEMORY: &str = "list/html-memory";
const IN_MEMORY_ONCE: Target = Target::AtMost(2.0);

/// The same rate against a disassembler's, which writes address, bytes and instruction, and knows of no run.
const PEER: &str = "list/objdump";

pub fn run(selection: &Selection) {
    if !LINES.iter().any(|(name, ..)| selection.wants(name))
        && ![MEMORY, PEER].iter().any(|it| selection.wants(it))
    {
        return;
    }
    let directory = match tempfile::tempdir() {
        Ok(directory) => directory,
        Err(error) => return line::skip("list/*", &error.to_string()),
    };
    let file = directory.path().join("t.ostrace");
    if let Err(reason) =
        size::write(&["-f", "bench_branchy"], &file, &command::this_program("branchy", AMOUNT))
    {
        return line::skip("list/*", &reason);
    }
    let rows = match Trace::open(&file) {
        Ok(trace) => Summary::of(&trace).steps,
        Err(error) => return line::skip("list/*", &error.to_string()),
    };
    for (name, options, target) in LINES.into_iter().filter(|(name, ..)| selection.wants(name)) {
        let run = || clock::of_run(command::list(&file)?.args(options));
        match (0..ROUNDS).map_while(|_| run()).min() {
            Some(best) => {
                let rate = rows as f64 / (best as f64 / 1e9);
                let basis =
                    format!("{rows} rows with registers, CPU time of the whole command, best of {ROUNDS}");
                line::figure(name, rate, "rows/s", target, &basis);
            }
            None => line::skip(name, "overstep list failed"),
        }
    }
    if selection.wants(PEER) {
        match against_objdump(&file, rows) {
            Ok((ours, peer)) => {
                let basis = "rows of `list` and of `objdump -d` over this program, CPU time of the whole commands in turn";
                line::ratio(PEER, ours, peer, "rows/s", Target::AtLeast(1.0), basis);
            }
            Err(reason) => line::skip(PEER, &reason),
        }
    }
    if selection.wants(MEMORY) {
        match memory(&directory.path().join("short.ostrace"), &file) {
            Some((peak, trace)) => {
                let basis = "how much more `list --format html` has resident at its peak for this trace than for a short one; peer: how much longer its file is";
                line::ratio(MEMORY, peak, trace, "KiB", IN_MEMORY_ONCE, basis);
            }
            None => line::skip(MEMORY, "overstep list failed"),
        }
    }
}

/// Rows a second of `list` as text, and of objdump.
fn against_objdump(file: &Path, rows: u64) -> Result<(f64, f64), String> {
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let objdump = || {
        let mut command = Command::new("objdump");
        command.args(["-d", "-M", "intel"]).arg(&this);
        command
    };
    let listed = objdump().output().map_err(|error| format!("objdump: {error}"))?;
    let lines = listed.stdout.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"  ")).count();
    let (mut ours, mut peer) = (u64::MAX, u64::MAX);
    for _ in 0..ROUNDS {
        let own = command::list(file).and_then(|mut list| clock::of_run(&mut list));
        ours = ours.min(own.ok_or("overstep list failed")?);
        peer = peer.min(clock::of_run(objdump().stdout(Stdio::null())).ok_or("objdump failed")?);
    }
    let rate = |rows: f64, nanoseconds: u64| rows / (nanoseconds as f64 / 1e9);
    Ok((rate(rows as f64, ours), rate(lines as f64, peer)))
}

/// By how much the listing command's peak resident size and the trace are larger for `long` than for a short trace, which is
/// made at `short`; in KiB.
fn memory(short: &Path, long: &Path) -> Option<(f64, f64)> {
    size::write(&["-f", "bench_branchy"], short, &command::this_program("branchy", 1)).ok()?;
    let of = |file: &Path| {
        let peak = clock::peak_of_run(command::list(file)?.args(["--format", "html"]))?;
        Some((peak as f64, file.metadata().ok()?.len() as f64 / 1024.0))
    };
    let ((small, start), (large, end)) = (of(short)?, of(long)?);
    Some((large - small, end - start))
}
