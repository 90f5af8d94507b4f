//! Counts against an independent count: a ptrace loop of a few lines that shares nothing with the emulator.

#![allow(unsafe_code, reason = "ptrace, personality and waitpid are libc calls")]

use std::ffi::CString;
use std::process::Command;

use crate::support::{emulate, run};

const PROGRAM: &str = "/bin/true";

/// Single-steps `program` with `environment` and without address randomisation, from its first instruction to its
/// last, and counts them.
fn single_steps(program: &str, environment: &[CString]) -> u64 {
    let path = CString::new(program).unwrap();
    let arguments = [path.as_ptr(), std::ptr::null()];
    let mut environment: Vec<_> = environment.iter().map(|entry| entry.as_ptr()).collect();
    environment.push(std::ptr::null());
    // SAFETY:
    // - the child makes async-signal-safe calls only, and both arrays end in a null pointer;
    // - every request of ptrace below gets what its manual page says.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            libc::personality(libc::ADDR_NO_RANDOMIZE as u64);
            libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0);
            libc::execve(path.as_ptr(), arguments.as_ptr(), environment.as_ptr());
            libc::_exit(127);
        }
        let mut status = 0;
        let rip = || libc::ptrace(libc::PTRACE_PEEKUSER, child, 16 * 8, 0);
        let repeats =
            |at: i64| matches!(libc::ptrace(libc::PTRACE_PEEKTEXT, child, at, 0) & 0xff, 0xf2 | 0xf3);
        // The stop after execve, at the first instruction.
        libc::waitpid(child, &raw mut status, 0);
        let mut count = 0;
        loop {
            let before = rip();
            libc::ptrace(libc::PTRACE_SINGLESTEP, child, 0, 0);
            libc::waitpid(child, &raw mut status, 0);
            if libc::WIFEXITED(status) {
                // The syscall that ends it.
                return count + 1;
            }
            assert!(libc::WIFSTOPPED(status) && libc::WSTOPSIG(status) == libc::SIGTRAP, "{status:#x}");
            count += u64::from(rip() != before || !repeats(before));
        }
    }
}

fn perf_is_there() -> bool {
    let there = Command::new("perf").arg("--version").output().is_ok_and(|it| it.status.success());
    if !there {
        println!("SKIP perf: there is no perf (package linux-perf)");
    }
    there
}

/// What `perf stat` gives the program it starts: it changes PATH.
fn environment_under_perf() -> Vec<CString> {
    let output = Command::new("perf")
        .args(["stat", "-e", "task-clock", "-o", "/dev/null", "--", "/usr/bin/env", "-0"])
        .env_clear()
        .output()
        .expect("perf starts");
    let entries = output.stdout.split(|&byte| byte == 0).filter(|entry| !entry.is_empty());
    entries.map(|entry| CString::new(entry).unwrap()).collect()
}

/// The count that perf stat prints for `program` under the emulator.
fn perf_stat(program: &str) -> u64 {
    let mut command = emulate(&[]);
    // perf's environment would become the program's.
    command.args([
        "setarch",
        "-R",
        "env",
        "-i",
        "perf",
        "stat",
        "-x",
        ",",
        "-e",
        "instructions:u",
        "--",
        program,
    ]);
    let run = run(&mut command);
    assert_eq!(run.status, Some(0), "{run:?}");
    let line = run.stderr.lines().find(|line| line.contains("instructions:u")).expect("a count");
    line.split(',').next().unwrap().parse().unwrap_or_else(|_| panic!("{line}"))
}

#[test]
fn perf_stat_counts_what_single_stepping_counts_twice() {
    if !perf_is_there() {
        return;
    }
    let expected = single_steps(PROGRAM, &environment_under_perf());
    assert!(expected > 10_000, "{expected}");
    let counts = [perf_stat(PROGRAM), perf_stat(PROGRAM)];
    assert_eq!(counts, [expected, expected]);
    println!("{PROGRAM}: {expected} instructions, three times");
}

/// The oracle would notice one instruction more.
#[test]
fn another_environment_is_another_count() {
    if !perf_is_there() {
        return;
    }
    let environment = environment_under_perf();
    let longer: Vec<_> =
        environment.iter().cloned().chain([CString::new("LD_BIND_NOW=1").unwrap()]).collect();
    assert_ne!(single_steps(PROGRAM, &environment), single_steps(PROGRAM, &longer));
}
