//! posix_spawn(3): as exec.

use std::ffi::{c_char, c_int, c_void};

use crate::armed;
use crate::environment::with_session;

type Strings = *const *mut c_char;

mod real {
    use super::{Strings, c_char, c_int, c_void};
    crate::real!(pub fn posix_spawn(pid: *mut c_int, path: *const c_char, actions: *const c_void, attributes: *const c_void, arguments: Strings, environment: Strings) -> c_int);
    crate::real!(pub fn posix_spawnp(pid: *mut c_int, file: *const c_char, actions: *const c_void, attributes: *const c_void, arguments: Strings, environment: Strings) -> c_int);
}

/// Runs `start`, which makes a process, with the signal mask that the program believes in: the new one inherits it.
pub(super) fn with_mask_shown<R>(start: impl FnOnce() -> R) -> R {
    let shown = armed::process().filter(|process| process.show_mask());
    let result = start();
    if let Some(process) = shown {
        process.hide_mask();
    }
    result
}

/// # Safety
/// As posix_spawn(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_spawn(
    pid: *mut c_int,
    path: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: Strings,
    environment: Strings,
) -> c_int {
    // SAFETY: the caller's arrays, passed on.
    unsafe {
        with_session(environment, |environment| {
            with_mask_shown(|| real::posix_spawn(pid, path, actions, attributes, arguments, environment))
        })
    }
}

/// # Safety
/// As posix_spawnp(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_spawnp(
    pid: *mut c_int,
    file: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: Strings,
    environment: Strings,
) -> c_int {
    // SAFETY: the caller's arrays, passed on.
    unsafe {
        with_session(environment, |environment| {
            with_mask_shown(|| real::posix_spawnp(pid, file, actions, attributes, arguments, environment))
        })
    }
}
