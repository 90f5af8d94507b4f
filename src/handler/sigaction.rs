//! Installing the handler without libc, whose own restorer may be what is being traced.

#![allow(unsafe_code, reason = "signal dispositions are set by a raw system call with code addresses")]

use std::arch::naked_asm;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::address::RuntimeAddr;
use crate::raw::{self, Errno};

/// `restorer` is meant (Linux `arch/x86/include/uapi/asm/signal.h`).
pub(super) const SA_RESTORER: u64 = 0x0400_0000;

/// `struct kernel_sigaction` of x86_64 (Linux `include/linux/signal_types.h`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct KernelAction {
    /// Handler address, or SIG_DFL 0, SIG_IGN 1.
    pub handler: u64,
    pub flags: u64,
    pub restorer: u64,
    /// Bit `n - 1` for signal `n`.
    pub mask: u64,
}

/// An action that threads share. ATOMICS: relaxed, each field for itself: sigaction(2) of one signal in two threads at
/// once is a race of the program's own.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct AtomicAction {
    handler: AtomicU64,
    flags: AtomicU64,
    restorer: AtomicU64,
    mask: AtomicU64,
}

impl AtomicAction {
    /// SIG_DFL without flags.
    pub(super) const fn new() -> Self {
        let [handler, flags, restorer, mask] = [const { AtomicU64::new(0) }; 4];
        Self { handler, flags, restorer, mask }
    }

    pub(super) fn get(&self) -> KernelAction {
        KernelAction {
            handler: self.handler.load(Relaxed),
            flags: self.flags.load(Relaxed),
            restorer: self.restorer.load(Relaxed),
            mask: self.mask.load(Relaxed),
        }
    }

    /// The handler last, for a wrapper that jumps to it.
    pub(super) fn set(&self, new: &KernelAction) {
        self.flags.store(new.flags, Relaxed);
        self.restorer.store(new.restorer, Relaxed);
        self.mask.store(new.mask, Relaxed);
        self.handler.store(new.handler, Relaxed);
    }
}

/// A signal handler with SA_SIGINFO.
pub type Handler = unsafe extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::ucontext_t);

/// Returns from a signal: the handler's `ret` lands here. Not libc's, see kernel-facts 21.
#[unsafe(naked)]
extern "C" fn restorer() {
    naked_asm!("mov eax, {number}", "syscall", number = const libc::SYS_rt_sigreturn)
}

/// Where a thread goes, RSP at a frame's context, to return from that frame's signal.
pub(super) fn restorer_address() -> RuntimeAddr {
    RuntimeAddr(restorer as *const () as usize as u64)
}

/// Makes `handler` the action for `signal`, on the alternate stack, with every signal blocked meanwhile.
/// Returns the action that stood before.
///
/// # Errors
/// The kernel's errno: EINVAL for a signal that cannot be caught.
pub fn install(signal: i32, handler: Handler) -> Result<KernelAction, Errno> {
    let action = KernelAction {
        handler: handler as usize as u64,
        flags: (libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART) as u64 | SA_RESTORER,
        restorer: restorer_address().0,
        mask: u64::MAX,
    };
    replace(signal, Some(&action))
}

/// rt_sigpending(2): signals that wait for the calling thread or for the process, as the kernel has them.
///
/// # Errors
/// The kernel's errno.
pub(super) fn pending() -> Result<u64, Errno> {
    let mut set = 0_u64;
    // SAFETY: eight live bytes to write.
    unsafe {
        raw::syscall(libc::SYS_rt_sigpending, [&raw mut set as u64, size_of::<u64>() as u64, 0, 0, 0, 0])
    }?;
    Ok(set)
}

/// Sets `signal`'s action if one is given, and returns the one that stood before (rt_sigaction(2)).
///
/// # Errors
/// The kernel's errno.
pub fn replace(signal: i32, action: Option<&KernelAction>) -> Result<KernelAction, Errno> {
    let mut old = KernelAction::default();
    let new = action.map_or(0, |action| std::ptr::from_ref(action) as u64);
    // SAFETY:
    // - `new` is null or points to a live kernel_sigaction, `old` to a place for one;
    // - the mask is 8 bytes, which is what the kernel's sigset has.
    unsafe {
        raw::syscall(
            libc::SYS_rt_sigaction,
            [signal as u64, new, std::ptr::from_mut(&mut old) as u64, size_of::<u64>() as u64, 0, 0],
        )
    }?;
    Ok(old)
}
