//! sigaltstack(2): the tracer's alternate stack stays, and the program reads back its own.

use std::ffi::c_int;

use crate::armed;

mod real {
    use super::c_int;
    crate::real!(pub fn sigaltstack(new: *const libc::stack_t, old: *mut libc::stack_t) -> c_int);
}

/// # Safety
/// As sigaltstack(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigaltstack(new: *const libc::stack_t, old: *mut libc::stack_t) -> c_int {
    let Some(theirs) = armed::process().and_then(|process| process.program_stack()) else {
        // SAFETY: the caller's arguments, passed on.
        return unsafe { real::sigaltstack(new, old) };
    };
    let here = &raw const old as u64;
    let start = theirs.ss_sp as u64;
    let on_stack = theirs.ss_flags & libc::SS_DISABLE == 0
        && (start..start.saturating_add(theirs.ss_size as u64)).contains(&here);
    let mut before = *theirs;
    if on_stack {
        before.ss_flags |= libc::SS_ONSTACK;
    }
    // SAFETY: null or the caller's.
    if let Some(new) = unsafe { new.as_ref() } {
        let allowed = if on_stack { Err(libc::EPERM) } else { check(new) };
        if let Err(errno) = allowed {
            // SAFETY: the calling thread's errno.
            unsafe { *libc::__errno_location() = errno };
            return -1;
        }
        *theirs = *new;
    }
    // SAFETY: null or the caller's.
    if let Some(old) = unsafe { old.as_mut() } {
        *old = before;
    }
    0
}

/// The kernel's own objections (`do_sigaltstack`).
fn check(new: &libc::stack_t) -> Result<(), c_int> {
    const SS_AUTODISARM: c_int = 1 << 31;
    match new.ss_flags & !SS_AUTODISARM {
        libc::SS_DISABLE => Ok(()),
        0 | libc::SS_ONSTACK if new.ss_size < minimum() => Err(libc::ENOMEM),
        0 | libc::SS_ONSTACK => Ok(()),
        _ => Err(libc::EINVAL),
    }
}

/// The smallest stack the kernel takes: 2048 bytes since ever, whatever AT_MINSIGSTKSZ says, unless the thread uses
/// AMX.
fn minimum() -> usize {
    2048
}
