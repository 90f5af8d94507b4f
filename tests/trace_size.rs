//! Bytes per step and reading speed, on the instructions of a program no one here wrote.
#![allow(unsafe_code, reason = "ptrace(2): the steps are taken by another way than the one under test")]

mod trace_support;

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Instant;

use overstep::address::RuntimeAddr;
use overstep::record::memory_trace::MemoryTrace;
use overstep::record::reader::Trace;
use overstep::record::step::{RegisterChangeRef, Step};
use overstep::record::writer::ThreadWriter;
use overstep::registers::Registers;
use trace_support::{header, plain};

const STEPS: usize = 150_000;

#[test]
fn a_step_takes_three_bytes_and_sixteen_with_registers() {
    let Some(stops) = stops_of(&["/bin/sh", "-c", "for i in 1 2 3 4 5 6 7 8; do echo $((i * i)); done"])
    else {
        println!("SKIP a_step_takes_three_bytes_and_sixteen_with_registers: no ptrace here");
        return;
    };
    assert!(stops.len() > 50_000, "only {} steps", stops.len());
    for (registers, limit) in [(false, 3.0), (true, 16.0)] {
        let bytes = write(&stops, registers);
        let steps = stops.len() - 1;
        let per_step = (bytes.len() - 4096) as f64 / steps as f64;
        let trace = Trace::from_bytes(bytes).expect("readable");
        let start = Instant::now();
        assert_eq!(trace.entries(1).count(), steps + 1);
        let rate = steps as f64 / start.elapsed().as_secs_f64() / 1e6;
        println!("registers {registers}: {per_step:.2} bytes a step, read at {rate:.1} M rows/s");
        assert!(per_step <= limit, "{per_step} bytes a step");
    }
}

fn write(stops: &[Registers], registers: bool) -> Vec<u8> {
    let memory = MemoryTrace::new(64 << 20).expect("mmap");
    // SAFETY: used within this function only.
    let buffer = unsafe { memory.buffer() };
    let mut writer = ThreadWriter::new();
    writer.begin_call(&buffer, 1, 1, 0, &stops[0]).expect("room");
    let mut depth = 0u32;
    for pair in stops.windows(2) {
        let [before, after] = pair else { continue };
        let step = Step {
            registers: registers.then_some(RegisterChangeRef { before, after }),
            depth,
            ..plain(before.rip.0, after.rip.0)
        };
        writer.step(&buffer, &step).expect("room");
        // A far move with the stack one word lower or higher is a call or a return.
        let near = after.rip.since(before.rip) < 16;
        match after.general[4].wrapping_sub(before.general[4]) as i64 {
            -8 if !near => depth += 1,
            8 if !near => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    memory.to_bytes(&header()).expect("header")
}

/// The registers before each instruction, from the program's first one on. `None` where ptrace is not allowed.
fn stops_of(command: &[&str]) -> Option<Vec<Registers>> {
    let mut program = Command::new(command[0]);
    program.args(&command[1..]).stdout(Stdio::null());
    // SAFETY: ptrace(2) is a plain system call, and nothing else runs between fork and exec.
    unsafe {
        program.pre_exec(|| match libc::ptrace(libc::PTRACE_TRACEME) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
    let mut child = program.spawn().ok()?;
    let pid = child.id() as i32;
    let mut stops = Vec::with_capacity(STEPS);
    while stops.len() < STEPS && stopped(pid) {
        stops.push(registers(pid));
        // SAFETY: the child is stopped and ours.
        unsafe { libc::ptrace(libc::PTRACE_SINGLESTEP, pid, 0, 0) };
    }
    let _gone_already = child.kill();
    let _reaped = child.wait();
    Some(stops)
}

fn stopped(pid: i32) -> bool {
    let mut status = 0;
    // SAFETY: `status` is ours; the child is waited for by this thread alone.
    let waited = unsafe { libc::waitpid(pid, &raw mut status, 0) };
    waited == pid && libc::WIFSTOPPED(status)
}

fn registers(pid: i32) -> Registers {
    // SAFETY: plain numbers, for which zeros are values.
    let mut r: libc::user_regs_struct = unsafe { std::mem::zeroed() };
    // SAFETY: the child is stopped, and `r` is what PTRACE_GETREGS fills.
    unsafe { libc::ptrace(libc::PTRACE_GETREGS, pid, 0, &raw mut r) };
    Registers {
        general: [
            r.rax, r.rcx, r.rdx, r.rbx, r.rsp, r.rbp, r.rsi, r.rdi, r.r8, r.r9, r.r10, r.r11, r.r12, r.r13,
            r.r14, r.r15,
        ],
        rip: RuntimeAddr(r.rip),
        rflags: r.eflags,
    }
}
