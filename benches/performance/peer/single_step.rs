//! A debugger's loop: PTRACE_SINGLESTEP, wait, PTRACE_GETREGS, both processes on one CPU.

#![allow(unsafe_code, reason = "ptrace(2)")]

use crate::clock;
use crate::fixed_stack::{FixedStack, Flags};
use crate::forked::{Board, Sample};
use crate::workload::Workload;

/// Instructions on the way from the tracee's SIGSTOP into the workload: far fewer than this.
const APPROACH: usize = 10_000;

pub fn run(board: &Board, workload: &Workload, stack: &FixedStack) {
    // SAFETY: this process has one thread.
    let tracee = unsafe { libc::fork() };
    if tracee == 0 {
        // SAFETY: plain calls; the parent takes over at the SIGSTOP.
        unsafe {
            libc::ptrace(libc::PTRACE_TRACEME);
            libc::raise(libc::SIGSTOP);
        }
        stack.run(workload, Flags::AsTheyAre);
        // SAFETY: ends this child without the parent's exit handlers.
        unsafe { libc::_exit(0) }
    }
    assert!(stopped(tracee), "no ptrace here");
    let approach =
        (0..APPROACH).find_map(|_| Some(step(tracee)?).filter(|r| r.rip == workload.entry as usize as u64));
    let entered = approach.expect("the tracee enters the workload");
    let spent = || clock::of_this_process() + clock::of_process(tracee);

    let start = spent();
    let mut steps = 0;
    while let Some(registers) = step(tracee) {
        steps += 1;
        if registers.rsp > entered.rsp {
            break;
        }
    }
    board.set(Sample { nanoseconds: spent() - start, steps });
    // SAFETY: a child of ours, stopped.
    unsafe { libc::kill(tracee, libc::SIGKILL) };
}

/// One instruction; the registers behind it. `None` when the tracee is gone.
fn step(tracee: libc::pid_t) -> Option<libc::user_regs_struct> {
    // SAFETY: the tracee is ours and stopped.
    unsafe { libc::ptrace(libc::PTRACE_SINGLESTEP, tracee, 0, 0) };
    if !stopped(tracee) {
        return None;
    }
    // SAFETY: plain numbers, for which zeros are values.
    let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
    // SAFETY: the tracee is stopped, and the struct is what PTRACE_GETREGS fills.
    unsafe { libc::ptrace(libc::PTRACE_GETREGS, tracee, 0, &raw mut registers) };
    Some(registers)
}

fn stopped(tracee: libc::pid_t) -> bool {
    let mut status = 0;
    // SAFETY: `status` is ours to fill.
    let waited = unsafe { libc::waitpid(tracee, &raw mut status, 0) };
    waited == tracee && libc::WIFSTOPPED(status)
}
