//! System calls without libc, for code that may be interrupting libc.
//!
//! # Signal safety
//! Every function here is one `syscall` instruction: no errno, no cancellation point, no thread-local state.

#![allow(unsafe_code, reason = "a system call is an instruction that Rust cannot express")]

use std::arch::asm;

/// A failed call's errno, 1 to 4095 (Linux `include/linux/err.h`, `MAX_ERRNO`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(pub i32);

/// Makes system call `number` with up to six arguments (unused ones 0).
///
/// # Errors
/// The call's errno.
///
/// # Safety
/// The call's own contract: pointers among the arguments must be what the kernel expects of that call.
#[inline(always)]
pub unsafe fn syscall(number: i64, arguments: [u64; 6]) -> Result<u64, Errno> {
    let result: i64;
    let [a, b, c, d, e, f] = arguments;
    // SAFETY:
    // - the x86_64 system call convention: number in rax, arguments in rdi, rsi, rdx, r10, r8, r9,
    //   rcx and r11 overwritten (System V ABI, A.2.1);
    // - what the call does with the arguments is the caller's promise.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack)
        );
    }
    if (-4095..0).contains(&result) { Err(Errno(-result as i32)) } else { Ok(result as u64) }
}

/// Closes a descriptor; there is nothing to do about a failure.
///
/// # Safety
/// `fd` is the caller's to close.
#[inline(always)]
pub unsafe fn close(fd: i32) {
    // SAFETY: the caller's promise.
    let _ = unsafe { syscall(libc::SYS_close, [fd as u64, 0, 0, 0, 0, 0]) };
}

/// The calling thread's id.
#[inline(always)]
#[must_use]
pub fn gettid() -> u32 {
    // SAFETY: gettid takes nothing and cannot fail.
    unsafe { syscall(libc::SYS_gettid, [0; 6]) }.unwrap_or(0) as u32
}

/// The calling process's id.
#[inline(always)]
#[must_use]
pub fn getpid() -> u32 {
    // SAFETY: getpid takes nothing and cannot fail.
    unsafe { syscall(libc::SYS_getpid, [0; 6]) }.unwrap_or(0) as u32
}

/// The soft limit of `resource`, one of `libc::RLIMIT_*` (`prlimit(2)`); `u64::MAX` where there is none.
#[must_use]
pub fn soft_limit(resource: u32) -> u64 {
    let mut limit = [u64::MAX; 2];
    // SAFETY: prlimit64 writes a struct of two u64 into `limit`.
    let _ = unsafe { syscall(libc::SYS_prlimit64, [0, resource.into(), 0, limit.as_mut_ptr() as u64, 0, 0]) };
    let [soft, _] = limit;
    soft
}
