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
pub(crate) type Alive = AtomicU32;

/// Calls `entry` in a new thread, and waits for its end.
///
/// # Errors
/// As [`spawn`].
pub(super) fn run(entry: extern "C" fn()) -> Result<(), Errno> {
    static ALIVE: Alive = AtomicU32::new(0);
    spawn(entry, &ALIVE)?;
    wait(&ALIVE);
    Ok(())
}

/// Calls `entry` in a new thread. `entry` must use no thread-local storage: it has the creator's.
///
/// # Errors
/// Those of `mmap(2)` and `clone(2)`.
pub(crate) fn spawn(entry: extern "C" fn(), alive: &'static Alive) -> Result<(), Errno> {
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as u64;
    let kind = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as u64;
    // SAFETY: a new anonymous mapping overlaps nothing.
    let stack = unsafe { syscall(libc::SYS_mmap, [0, STACK, protection, kind, u64::MAX, 0]) }?;
    alive.store(1, std::sync::atomic::Ordering::Relaxed);
    // SAFETY:
    // - the stack is new and stays mapped to the child's end; its top is a multiple of 16;
    // - `alive` is static, so it outlives the thread.
    let thread = unsafe { start(FLAGS as u64, stack + STACK, entry, alive.as_ptr()) };
    if thread < 0 { Err(Errno(-thread as i32)) } else { Ok(()) }
}

/// Waits for the end of the thread that [`spawn`] got `alive` with.
pub(crate) fn wait(alive: &Alive) {
    while alive.load(Acquire) != 0 {
        // SAFETY: sched_yield takes nothing.
        let _ = unsafe { syscall(libc::SYS_sched_yield, [0; 6]) };
    }
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
