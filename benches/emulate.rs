//! `cargo bench --bench emulate`: what the software PMU costs, against a bare PTRACE_SINGLESTEP loop while something is
//! counted, and against nothing at all while nothing is.

#![allow(unsafe_code, reason = "perf_event_open, ptrace and ioctl are libc calls")]

#[allow(dead_code, reason = "shared with the other bench, which uses the rest")]
#[path = "performance/clock.rs"]
mod clock;
#[allow(dead_code, reason = "shared with the other bench, which uses the rest")]
#[path = "performance/line.rs"]
mod line;
#[path = "performance/machine.rs"]
mod machine;
#[path = "performance/selection.rs"]
mod selection;

use std::hint::black_box;
use std::path::Path;
use std::process::{Command, Stdio};

use line::Target;
use perf_event_open_sys::bindings as sys;
use selection::Selection;

/// Turns of the counted loop; four instructions each, at most.
const COUNTED: u64 = 20_000;
/// Long enough for the start of the emulator to be a small part.
const COMPUTED: u64 = 3_000_000_000;
const ROUNDS: usize = 5;
const STATUS_ROUNDS: usize = 30;
const FILES: usize = 300;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, name, amount] = &arguments[..]
        && flag == "--program"
    {
        return program(name, amount.parse().expect("a number"));
    }
    let selection = Selection::new(&arguments);
    machine::stay_on_one_cpu();
    println!("{}\n", machine::describe());
    line::print_heading();
    if selection.wants("emulate/counted") {
        counted();
    }
    if selection.wants("emulate/compute") {
        let ours = emulated(&this_program("spin", COMPUTED));
        compare(
            "emulate/compute",
            ours,
            this_program("spin", COMPUTED),
            ROUNDS,
            1.05,
            "a loop, nothing counted",
        );
    }
    if selection.wants("emulate/git-status") {
        git_status();
    }
}

/// What this executable does as the program to measure.
fn program(name: &str, amount: u64) {
    match name {
        "counted" => {
            let event = open();
            // SAFETY: ENABLE takes no argument.
            unsafe { libc::ioctl(event, sys::ENABLE.into(), 0) };
            spin(amount);
            // SAFETY: DISABLE takes no argument.
            unsafe { libc::ioctl(event, sys::DISABLE.into(), 0) };
        }
        "bare" => bare(amount),
        "spin" => spin(amount),
        other => panic!("no program `{other}`"),
    }
}

#[inline(never)]
fn spin(turns: u64) {
    // SAFETY: registers of its own, no memory.
    unsafe {
        std::arch::asm!("2: dec {turns}", "jnz 2b", turns = inout(reg) turns => _, options(nomem, nostack));
    }
    black_box(turns);
}

fn open() -> i32 {
    let mut attr = sys::perf_event_attr::default();
    attr.size = size_of::<sys::perf_event_attr>() as u32;
    attr.config = sys::PERF_COUNT_HW_INSTRUCTIONS.into();
    attr.set_disabled(1);
    attr.set_exclude_kernel(1);
    attr.set_exclude_hv(1);
    // SAFETY: the attributes live and state their size.
    let event = unsafe { libc::syscall(libc::SYS_perf_event_open, &raw const attr, 0, -1, -1, 0) };
    assert!(event >= 0, "no counter here: {}", std::io::Error::last_os_error());
    event as i32
}

/// The peer: as many steps over the same loop by the shortest ptrace loop there is.
fn bare(turns: u64) {
    // SAFETY:
    // - the child makes async-signal-safe calls and runs a loop of registers;
    // - every request gets what its manual page says.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0);
            libc::raise(libc::SIGSTOP);
            spin(u64::MAX);
            libc::_exit(0);
        }
        let mut status = 0;
        libc::waitpid(child, &raw mut status, 0);
        for _ in 0..2 * turns {
            libc::ptrace(libc::PTRACE_SINGLESTEP, child, 0, 0);
            libc::waitpid(child, &raw mut status, 0);
        }
        libc::kill(child, libc::SIGKILL);
        libc::waitpid(child, &raw mut status, 0);
    }
}

fn this_program(name: &str, amount: u64) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("/proc is there"));
    command.args(["--program", name, &amount.to_string()]);
    command
}

fn emulated(program: &Command) -> Option<Command> {
    let overstep = option_env!("CARGO_BIN_EXE_overstep").filter(|path| Path::new(path).exists())?;
    let mut command = Command::new(overstep);
    command.args(["emulate", "-q", "--"]).arg(program.get_program()).args(program.get_args());
    if let Some(directory) = program.get_current_dir() {
        command.current_dir(directory);
    }
    command.stdout(Stdio::null());
    Some(command)
}

/// Both without what they do apart from stepping.
fn counted() {
    let name = "emulate/counted";
    let contestants = [("counted", COUNTED), ("counted", 1), ("bare", COUNTED), ("bare", 1)];
    let mut best = [u64::MAX; 4];
    for _ in 0..ROUNDS {
        for (best, (program, turns)) in best.iter_mut().zip(contestants) {
            let plain = this_program(program, turns);
            let command = if program == "counted" { emulated(&plain) } else { Some(plain) };
            let Some(cost) = command.and_then(|mut command| clock::of_run(&mut command)) else {
                return line::skip(name, "no executable, or it fails");
            };
            *best = cost.min(*best);
        }
    }
    let [ours, start, peer, peer_start] = best.map(|cost| cost as f64);
    let steps = (2 * (COUNTED - 1)) as f64;
    let basis = format!("{steps} instructions; peer: PTRACE_SINGLESTEP and waitpid");
    line::ratio(name, (ours - start) / steps, (peer - peer_start) / steps, "ns", Target::AtMost(1.5), &basis);
}

fn compare(name: &str, ours: Option<Command>, mut peer: Command, rounds: usize, most: f64, basis: &str) {
    let Some(mut ours) = ours else { return line::skip(name, "no executable") };
    peer.stdout(Stdio::null());
    let mut best = [u64::MAX; 2];
    for _ in 0..rounds {
        for (best, command) in best.iter_mut().zip([&mut ours, &mut peer]) {
            let Some(cost) = clock::of_run(command) else { return line::skip(name, "it fails") };
            *best = cost.min(*best);
        }
    }
    let [ours, peer] = best.map(|cost| cost as f64 / 1e6);
    line::ratio(name, ours, peer, "ms", Target::AtMost(most), basis);
}

fn git_status() {
    let name = "emulate/git-status";
    let directory = tempfile::tempdir().expect("a temporary directory");
    for number in 0..FILES {
        let folder = directory.path().join(format!("folder{}", number % 20));
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join(format!("file{number}")), number.to_string()).expect("a file");
    }
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.args(arguments).current_dir(directory.path()).env("GIT_CONFIG_NOSYSTEM", "1");
        command
    };
    let prepared = [&["init", "--quiet", "."][..], &["add", "."]]
        .iter()
        .all(|arguments| git(arguments).output().is_ok_and(|output| output.status.success()));
    if !prepared {
        return line::skip(name, "there is no git");
    }
    let status = git(&["status", "--porcelain"]);
    let ours = emulated(&status);
    compare(name, ours, status, STATUS_ROUNDS, 1.5, "300 files, the whole command");
}
