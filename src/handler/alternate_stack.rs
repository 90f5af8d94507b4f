//! Alternate signal stacks: the tracer's stands in for the program's, which reads back its own.

#![allow(unsafe_code, reason = "a raw system call with pointers")]

use super::process::Process;
use crate::raw::{self, Errno};

/// Cleared while a handler runs on the stack (Linux 4.7, `include/uapi/linux/signal.h`).
const SS_AUTODISARM: i32 = 1 << 31;
/// The smallest stack the kernel takes: 2048 bytes since ever, whatever AT_MINSIGSTKSZ says, unless the thread uses
/// AMX.
const MINIMUM: usize = 2048;

/// The calling thread's real alternate stack.
///
/// # Errors
/// None that the kernel has for a question.
///
/// # Signal safety
/// One raw system call.
pub(super) fn alternate_stack() -> Result<libc::stack_t, Errno> {
    set(0)
}

/// sigaltstack(2) without libc: sets the calling thread's alternate stack and returns the one before.
///
/// # Errors
/// EPERM while the thread runs on the old one, ENOMEM when `new` is smaller than the kernel needs.
///
/// # Signal safety
/// One raw system call.
pub fn replace_alternate_stack(new: &libc::stack_t) -> Result<libc::stack_t, Errno> {
    set(std::ptr::from_ref(new) as u64)
}

/// The call itself; `new` is 0 or the address of a stack_t.
fn set(new: u64) -> Result<libc::stack_t, Errno> {
    let mut old = libc::stack_t { ss_sp: std::ptr::null_mut(), ss_flags: 0, ss_size: 0 };
    // SAFETY: null or a live stack_t whose memory the caller keeps, and a place for the old one.
    unsafe { raw::syscall(libc::SYS_sigaltstack, [new, &raw mut old as u64, 0, 0, 0, 0]) }?;
    Ok(old)
}

/// sigaltstack(2) as the program means it: changes what it believes in, `theirs`, if a new stack is given. `rsp` tells
/// whether it runs on the one it has. The one before, as it reads it.
///
/// # Errors
/// The kernel's own objections (`do_sigaltstack`): EPERM, EINVAL, ENOMEM.
///
/// # Signal safety
/// Arithmetic.
pub(super) fn change(
    theirs: &mut libc::stack_t,
    rsp: u64,
    new: Option<libc::stack_t>,
) -> Result<libc::stack_t, Errno> {
    let start = theirs.ss_sp as u64;
    let on_stack = theirs.ss_flags & libc::SS_DISABLE == 0
        && (start..start.saturating_add(theirs.ss_size as u64)).contains(&rsp);
    let mut before = *theirs;
    if on_stack {
        before.ss_flags |= libc::SS_ONSTACK;
    }
    if let Some(new) = new {
        if on_stack {
            return Err(Errno(libc::EPERM));
        }
        *theirs = match new.ss_flags & !SS_AUTODISARM {
            libc::SS_DISABLE => libc::stack_t { ss_sp: std::ptr::null_mut(), ss_size: 0, ..new },
            0 | libc::SS_ONSTACK if new.ss_size < MINIMUM => return Err(Errno(libc::ENOMEM)),
            // "Set" by either spelling reads back as 0.
            0 | libc::SS_ONSTACK => libc::stack_t { ss_flags: new.ss_flags & !libc::SS_ONSTACK, ..new },
            _ => return Err(Errno(libc::EINVAL)),
        };
    }
    Ok(before)
}

impl Process {
    /// sigaltstack(2) of the calling thread, while the tracer's stack stands in its place: `None` where it does not.
    ///
    /// # Errors
    /// As the kernel's.
    ///
    /// # Signal safety
    /// gettid.
    pub fn change_alternate_stack(
        &self,
        rsp: u64,
        new: Option<libc::stack_t>,
    ) -> Option<Result<libc::stack_t, Errno>> {
        let thread = self.threads.find(raw::gettid())?;
        Some(change(&mut thread.program_stack, rsp, new))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(start: u64, flags: i32, size: usize) -> libc::stack_t {
        libc::stack_t { ss_sp: start as *mut libc::c_void, ss_flags: flags, ss_size: size }
    }

    fn fields(stack: libc::stack_t) -> (u64, i32, usize) {
        (stack.ss_sp as u64, stack.ss_flags, stack.ss_size)
    }

    #[test]
    fn objections_are_the_kernels() {
        let mut theirs = stack(0, libc::SS_DISABLE, 0);
        let small = change(&mut theirs, 0, Some(stack(0x1000, 0, 2047)));
        assert_eq!(small.map(fields), Err(Errno(libc::ENOMEM)));
        let unknown = change(&mut theirs, 0, Some(stack(0x1000, 8, 4096)));
        assert_eq!(unknown.map(fields), Err(Errno(libc::EINVAL)));
        let first = change(&mut theirs, 0, Some(stack(0x1000, libc::SS_ONSTACK, 4096)));
        assert_eq!(first.map(fields), Ok((0, libc::SS_DISABLE, 0)));
        assert_eq!(change(&mut theirs, 0, None).map(fields), Ok((0x1000, 0, 4096)));
        assert_eq!(change(&mut theirs, 0x1800, None).map(fields), Ok((0x1000, libc::SS_ONSTACK, 4096)));
        let busy = change(&mut theirs, 0x1800, Some(stack(0, libc::SS_DISABLE, 0)));
        assert_eq!(busy.map(fields), Err(Errno(libc::EPERM)));
    }
}
