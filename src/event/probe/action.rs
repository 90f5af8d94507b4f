//! Signal handlers of a child that must not touch libc.

#![allow(unsafe_code, reason = "installs a signal handler")]

use std::arch::naked_asm;

use crate::raw::{Errno, syscall};

const SA_RESTORER: u64 = 0x0400_0000;

/// What the kernel's `rt_sigaction` takes (`arch/x86/include/uapi/asm/signal.h`, `struct sigaction`).
#[repr(C)]
struct KernelSigaction {
    handler: *const (),
    flags: u64,
    restorer: unsafe extern "C" fn(),
    mask: u64,
}

/// Catches `signals` with `handler`, an `extern "C" fn(i32, &EventSignal, &ucontext_t)` that keeps to what a
/// handler may do, with every signal blocked meanwhile; and blocks all others from now on.
///
/// # Errors
/// EINVAL for a signal that cannot be caught.
pub(crate) fn install(signals: &[i32], handler: *const ()) -> Result<(), Errno> {
    let action = KernelSigaction {
        handler,
        flags: libc::SA_SIGINFO as u64 | SA_RESTORER,
        restorer: restore,
        mask: u64::MAX,
    };
    for signal in signals {
        // SAFETY:
        // - `action` has the kernel's layout and lives; the handler is the caller's promise.
        unsafe { syscall(libc::SYS_rt_sigaction, [*signal as u64, (&raw const action) as u64, 0, 8, 0, 0]) }?;
    }
    block(signals.iter().fold(u64::MAX, |mask, signal| mask & !bit(*signal)))
}

/// `signal`'s place in the kernel's signal set.
pub(crate) const fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

/// Blocks exactly the signals in `blocked`.
///
/// # Errors
/// None that a valid set can give.
pub(crate) fn block(blocked: u64) -> Result<(), Errno> {
    // SAFETY: `blocked` lives and has the 8 bytes stated.
    unsafe {
        let arguments = [libc::SIG_SETMASK as u64, (&raw const blocked) as u64, 0, 8, 0, 0];
        syscall(libc::SYS_rt_sigprocmask, arguments)
    }
    .map(drop)
}

/// # Signal safety
/// One system call.
#[unsafe(naked)]
unsafe extern "C" fn restore() {
    naked_asm!("mov eax, {sigreturn}", "syscall", sigreturn = const libc::SYS_rt_sigreturn)
}
