//! A stack at the same address for every contestant: `memcpy` and its kind choose their path by alignment, so only
//! on one and the same stack do all of them run the same instructions.

#![allow(unsafe_code, reason = "the stack pointer and the trap flag are set by hand")]

use std::arch::naked_asm;
use std::io;

use crate::workload::Workload;

const SIZE: usize = 1 << 20;

/// EFLAGS.TF (SDM volume 1, section 3.4.3).
const TRAP_FLAG: u64 = 1 << 8;

/// How the workload is run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Flags {
    AsTheyAre,
    /// SIGTRAP after every instruction.
    TrapFlag,
}

pub struct FixedStack {
    top: *mut u8,
}

impl FixedStack {
    /// # Errors
    /// mmap(2)'s.
    pub fn new() -> io::Result<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
        // SAFETY: a new mapping, wherever the kernel puts it; it lasts as long as the process.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), SIZE, protection, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { top: base.cast::<u8>().wrapping_add(SIZE) })
    }

    /// Runs the workload once, on this stack.
    pub fn run(&self, workload: &Workload, flags: Flags) {
        let trap = if flags == Flags::TrapFlag { TRAP_FLAG } else { 0 };
        // SAFETY:
        // - the stack is page-aligned at its top, large, and used by one run at a time;
        // - the workload's entry takes its argument and follows the C calling convention, and nothing in it
        //   unwinds;
        // - with TF a handler of SIGTRAP stands, or the process is the bench's own to lose.
        unsafe { call_on(self.top, workload.entry, workload.argument, trap) };
    }
}

/// Calls `entry(argument)` with `top` as the stack, and with `flags` added to EFLAGS until it returns.
#[unsafe(naked)]
unsafe extern "C" fn call_on(
    top: *mut u8,
    entry: crate::workload::Entry,
    argument: *mut libc::c_void,
    flags: u64,
) {
    naked_asm!(
        "push rbx",
        "mov rbx, rsp",
        "mov rsp, rdi",
        "mov rdi, rdx",
        "pushfq",
        "or qword ptr [rsp], rcx",
        "popfq",
        "call rsi",
        "pushfq",
        "and qword ptr [rsp], {without_trap_flag}",
        "popfq",
        "mov rsp, rbx",
        "pop rbx",
        "ret",
        without_trap_flag = const !(TRAP_FLAG as i32),
    )
}
