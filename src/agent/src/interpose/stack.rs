//! sigaltstack(2): the tracer's alternate stack stays, and the program reads back its own.

use std::ffi::c_int;

use super::errno::failed;
use crate::armed;

mod real {
    use super::c_int;
    crate::real!(pub fn sigaltstack(new: *const libc::stack_t, old: *mut libc::stack_t) -> c_int);
}

/// # Safety
/// As sigaltstack(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigaltstack(new: *const libc::stack_t, old: *mut libc::stack_t) -> c_int {
    let here = &raw const old as u64;
    // SAFETY: null or the caller's.
    let wanted = unsafe { new.as_ref() }.copied();
    match armed::process().and_then(|process| process.change_alternate_stack(here, wanted)) {
        // SAFETY: the caller's arguments, passed on.
        None => unsafe { real::sigaltstack(new, old) },
        Some(Err(errno)) => failed(errno.0),
        Some(Ok(before)) => {
            // SAFETY: null or the caller's.
            if let Some(old) = unsafe { old.as_mut() } {
                *old = before;
            }
            0
        }
    }
}
