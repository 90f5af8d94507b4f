//! The exec family: the session goes along until the function has been entered.

use std::arch::naked_asm;
use std::ffi::{c_char, c_int};

use crate::armed;
use crate::environment::{ENVIRON, with_session};

type Strings = *const *mut c_char;

mod real {
    use super::{Strings, c_char, c_int};
    crate::real!(pub fn execve(path: *const c_char, arguments: Strings, environment: Strings) -> c_int);
    crate::real!(pub fn execvpe(file: *const c_char, arguments: Strings, environment: Strings) -> c_int);
    crate::real!(pub fn fexecve(fd: c_int, arguments: Strings, environment: Strings) -> c_int);
    crate::real!(pub fn execveat(fd: c_int, path: *const c_char, arguments: Strings, environment: Strings, flags: c_int) -> c_int);
}

/// The new program inherits the signal mask and which signals are ignored: it gets what the old one believed in.
fn with_signals_shown(start: impl FnOnce() -> c_int) -> c_int {
    let Some(process) = armed::process() else { return start() };
    process.show_signals();
    let result = start();
    process.hide_signals();
    result
}

/// # Safety
/// As execve(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execve(path: *const c_char, arguments: Strings, environment: Strings) -> c_int {
    // SAFETY: the caller's arrays, passed on.
    unsafe {
        with_session(environment, |environment| {
            with_signals_shown(|| real::execve(path, arguments, environment))
        })
    }
}

/// # Safety
/// As execvpe(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execvpe(file: *const c_char, arguments: Strings, environment: Strings) -> c_int {
    // SAFETY: the caller's arrays, passed on.
    unsafe {
        with_session(environment, |environment| {
            with_signals_shown(|| real::execvpe(file, arguments, environment))
        })
    }
}

/// # Safety
/// As execv(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execv(path: *const c_char, arguments: Strings) -> c_int {
    // SAFETY: the C library's own environment.
    unsafe { execve(path, arguments, ENVIRON) }
}

/// # Safety
/// As execvp(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execvp(file: *const c_char, arguments: Strings) -> c_int {
    // SAFETY: the C library's own environment.
    unsafe { execvpe(file, arguments, ENVIRON) }
}

/// # Safety
/// As fexecve(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fexecve(fd: c_int, arguments: Strings, environment: Strings) -> c_int {
    // SAFETY: the caller's arrays, passed on.
    unsafe {
        with_session(environment, |environment| {
            with_signals_shown(|| real::fexecve(fd, arguments, environment))
        })
    }
}

/// # Safety
/// As execveat(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execveat(
    fd: c_int,
    path: *const c_char,
    arguments: Strings,
    environment: Strings,
    flags: c_int,
) -> c_int {
    // SAFETY: the caller's arrays, passed on.
    unsafe {
        with_session(environment, |environment| {
            with_signals_shown(|| real::execveat(fd, path, arguments, environment, flags))
        })
    }
}

/// Turns `f(first, string, string, …, NULL)` into `$list(first, array)`: the strings in registers are pushed in
/// front of those on the stack, with the return address moved out of the way.
macro_rules! variadic {
    ($(#[$doc:meta])* $name:ident, $list:path) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// As exec(3).
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            naked_asm!(
                "pop rax",
                "push r9",
                "push r8",
                "push rcx",
                "push rdx",
                "push rsi",
                "mov rsi, rsp",
                "push rax",
                "call {list}",
                "pop rdx",
                "add rsp, 40",
                "jmp rdx",
                list = sym $list,
            )
        }
    };
}

variadic!(
    /// `execl(path, argument, …, NULL)`
    execl, execv
);
variadic!(
    /// `execlp(file, argument, …, NULL)`
    execlp, execvp
);
variadic!(
    /// `execle(path, argument, …, NULL, environment)`
    execle, list_with_environment
);

/// # Safety
/// `list` is a NULL-terminated array with the environment behind the NULL.
unsafe extern "C" fn list_with_environment(path: *const c_char, list: Strings) -> c_int {
    let mut end = list;
    // SAFETY: up to the terminating NULL, and the pointer behind it.
    unsafe {
        while !end.read().is_null() {
            end = end.add(1);
        }
        execve(path, list, end.add(1).cast::<Strings>().read())
    }
}
