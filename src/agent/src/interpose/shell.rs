//! system(3) and popen(3) start a shell from inside the C library, with the environment as it stands: the session
//! stands in it meanwhile.

use std::ffi::{c_char, c_int, c_void};

use super::spawn::with_mask_shown;
use crate::environment::{ENVIRON, with_session};

mod real {
    use super::{c_char, c_int, c_void};
    crate::real!(pub fn system(command: *const c_char) -> c_int);
    crate::real!(pub fn popen(command: *const c_char, kind: *const c_char) -> *mut c_void);
}

/// # Safety
/// As system(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn system(command: *const c_char) -> c_int {
    // SAFETY: the caller's command, passed on.
    unsafe { with_session_in_place(|| with_mask_shown(|| real::system(command))) }
}

/// # Safety
/// As popen(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn popen(command: *const c_char, kind: *const c_char) -> *mut c_void {
    // SAFETY: the caller's strings, passed on.
    unsafe { with_session_in_place(|| with_mask_shown(|| real::popen(command, kind))) }
}

/// # Safety
/// Another thread that changes the environment meanwhile loses the change; setenv(3) promises it no more.
unsafe fn with_session_in_place<R>(start: impl FnOnce() -> R) -> R {
    // SAFETY: the C library's own environment, put back before anyone returns.
    unsafe {
        let own = ENVIRON;
        with_session(own, |environment| {
            ENVIRON = environment.cast_mut();
            let result = start();
            ENVIRON = own;
            result
        })
    }
}
