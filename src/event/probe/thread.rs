//! A thread for a probe's child, without libc's.

#![allow(unsafe_code, reason = "a thread of a child that must not touch libc is a bare clone")]

use std::arch::naked_asm;
use std::sync::atomic::{AtomicU32, Ordering::Acquire};

use crate::raw::{Errno, syscall};

/// Room for a signal frame with any vector state there is.
const STACK: u64 = 128 * 1024;

const FLAGS: i32 = libc::CLONE_VM
    | libc::CLONE_FS
    | libc::CLONE_FILES
    | libc::CLONE_SIGHAND
    | libc::CLONE_THREAD
    | libc::CLONE_SYSVSEM
    | libc::CLONE_CHILD_CLEARTID;

/// ATOMICS: stored before the clone, cleared by the kernel when the thread is gone.
static ALIVE: AtomicU32 = AtomicU32::new(0);

/// Calls `entry` in a new thread, and waits for its end. `entry` must use no thread-local storage: it has the
/// creator's.
pub(super) fn run(entry: extern "C" fn()) -> Result<(), Errno> {
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as u64;
    let kind = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as u64;
    // SAFETY: a new anonymous mapping overlaps nothing.
    let stack = unsafe { syscall(libc::SYS_mmap, [0, STACK, protection, kind, u64::MAX, 0]) }?;
    ALIVE.store(1, std::sync::atomic::Ordering::Relaxed);
    // SAFETY:
    // - the stack is new and stays mapped to the child's end; its top is a multiple of 16;
    // - `ALIVE` is static, so it outlives the thread.
    let thread = unsafe { start(FLAGS as u64, stack + STACK, entry, ALIVE.as_ptr()) };
    if thread < 0 {
        return Err(Errno(-thread as i32));
    }
    while ALIVE.load(Acquire) != 0 {
        // SAFETY: sched_yield takes nothing.
        let _ = unsafe { syscall(libc::SYS_sched_yield, [0; 6]) };
    }
    Ok(())
}

/// `clone(2)` onto another stack: the thread's id or a negated errno, in the creator.
#[unsafe(naked)]
unsafe extern "C" fn start(flags: u64, stack: u64, entry: extern "C" fn(), alive: *mut u32) -> i64 {
    naked_asm!(
        "mov r9, rdx",  // survives the call, as everything but rax, rcx and r11 does
        "mov r10, rcx", // child_tid
        "xor edx, edx", // parent_tid
        "xor r8d, r8d", // tls
        "mov eax, {clone}",
        "syscall",
        "test rax, rax",
        "jnz 2f",
        "xor ebp, ebp",
        "call r9",
        "xor edi, edi",
        "mov eax, {exit}",
        "syscall",
        "2: ret",
        clone = const libc::SYS_clone,
        exit = const libc::SYS_exit,
    )
}
