//! The handler tail: what runs between re-arming an instruction counter and the interrupted code.
//!
//! REFRESH enables the counter inside the ioctl, so whatever the handler still has to do is counted (kernel-facts 10).
//! The last act is therefore a fixed sequence, REFRESH and then rt_sigreturn, which calibration measures once: the
//! probe's handler and the tracer's are made by this one macro.

use std::os::fd::RawFd;

use super::ioctl::{ENABLE, REFRESH};

/// What the tail is to do: a descriptor and, above its 32 bits, the request; negative for nothing.
pub type Tail = i64;

/// Nothing is to be armed.
pub const NOTHING: Tail = -1;

/// RFLAGS.AC, as a mask of 64 bits (SDM volume 1, 3.4.3.3).
pub const ALIGNMENT_CHECK: i64 = 1 << 18;

/// REFRESH(1): one overflow more than are left.
///
/// # Signal safety
/// Arithmetic.
#[must_use]
pub const fn refresh(counter: RawFd) -> Tail {
    (REFRESH as i64) << 32 | counter as i64
}

/// ENABLE: as many overflows as are left.
///
/// # Signal safety
/// Arithmetic.
#[must_use]
pub const fn enable(counter: RawFd) -> Tail {
    (ENABLE as i64) << 32 | counter as i64
}

/// Makes `$name`, a handler with SA_SIGINFO around `$inner`, which has the same arguments and says what is to be
/// re-armed: a [`Tail`].
macro_rules! handler_with_tail {
    ($(#[$attribute:meta])* $visibility:vis $name:ident => $inner:path) => {
        $(#[$attribute])*
        #[unsafe(naked)]
        $visibility unsafe extern "C" fn $name(
            signal: i32,
            info: *mut libc::siginfo_t,
            context: *mut libc::ucontext_t,
        ) {
            std::arch::naked_asm!(
                // The kernel leaves AC as the program has it (`arch/x86/kernel/signal_64.c`): what is made for a stack or
                // table of any alignment would raise SIGBUS. rt_sigreturn puts it back.
                "pushfq",
                "and qword ptr [rsp], {no_alignment_check}",
                "popfq",
                // The kernel enters a handler as if by a call; one more word aligns the stack for the next.
                "sub rsp, 8",
                "call {inner}",
                "add rsp, 8",
                "test rax, rax",
                "js 2f",
                // Past the restorer's address: rt_sigreturn wants RSP at the context.
                "add rsp, 8",
                "mov edi, eax",
                "mov rsi, rax",
                "shr rsi, 32",
                "mov edx, 1",
                "mov eax, {ioctl}",
                "syscall",
                "mov eax, {sigreturn}",
                "syscall",
                "2: ret",
                no_alignment_check = const !$crate::event::tail::ALIGNMENT_CHECK,
                inner = sym $inner,
                ioctl = const libc::SYS_ioctl,
                sigreturn = const libc::SYS_rt_sigreturn,
            )
        }
    };
}

pub(crate) use handler_with_tail;
