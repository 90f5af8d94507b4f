//! Signal masks: the program may block what it likes and reads it back; the tracer's signals stay unblocked.

use std::ffi::c_int;

use overstep::handler::program_signals::MaskChange;

use super::errno::failed;
use crate::armed;

mod real {
    use super::c_int;
    crate::real!(pub fn sigpending(set: *mut libc::sigset_t) -> c_int);
    crate::real!(pub fn pthread_sigmask(how: c_int, set: *const libc::sigset_t, old: *mut libc::sigset_t) -> c_int);
}

/// # Safety
/// As pthread_sigmask(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_sigmask(
    how: c_int,
    set: *const libc::sigset_t,
    old: *mut libc::sigset_t,
) -> c_int {
    let Some(process) = armed::process() else {
        // SAFETY: the caller's arguments, passed on.
        return unsafe { real::pthread_sigmask(how, set, old) };
    };
    // SAFETY: null or the caller's set; the kernel's mask is its first eight bytes.
    let wanted = unsafe { set.cast::<u64>().as_ref() };
    let change = match wanted {
        // The C library keeps these two for itself, whatever a program asks for.
        Some(set) => match MaskChange::of(how as u64, set & !LIBRARY_SIGNALS) {
            Some(change) => Some(change),
            None => return libc::EINVAL,
        },
        None => None,
    };
    match process.change_mask(change) {
        Ok(before) => {
            // SAFETY: null or the caller's place for a set.
            if let Some(old) = unsafe { old.cast::<u64>().as_mut() } {
                *old = before;
            }
            0
        }
        Err(errno) => errno.0,
    }
}

/// SIGCANCEL and SIGSETXID of glibc (`internal-signals.h`): 32 and 33.
const LIBRARY_SIGNALS: u64 = 0b11 << 31;

/// # Safety
/// As sigprocmask(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigprocmask(
    how: c_int,
    set: *const libc::sigset_t,
    old: *mut libc::sigset_t,
) -> c_int {
    // SAFETY: the caller's arguments, passed on.
    match unsafe { pthread_sigmask(how, set, old) } {
        0 => 0,
        errno => failed(errno),
    }
}

/// # Safety
/// As sigpending(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigpending(set: *mut libc::sigset_t) -> c_int {
    // SAFETY: the caller's place for a set, passed on.
    let result = unsafe { real::sigpending(set) };
    if result == 0
        && let Some(process) = armed::process()
        // SAFETY: the kernel has written there; its set is the first eight bytes.
        && let Some(set) = unsafe { set.cast::<u64>().as_mut() }
    {
        *set |= process.held();
    }
    result
}
