//! New threads get the tracer's alternate stack before the program's code runs in them: a stop must not need the
//! program's stack, which may be tiny.

use std::ffi::{c_int, c_void};

use crate::armed;

type Start = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;

mod real {
    use super::{Start, c_int, c_void};
    crate::real!(pub fn pthread_create(thread: *mut libc::pthread_t, attributes: *const c_void, start: Start, argument: *mut c_void) -> c_int);
}

/// What the program asked the new thread to run.
struct Errand {
    start: Start,
    argument: *mut c_void,
    /// The tracer's signals that the creating thread believes it blocks: a mask is inherited.
    blocked: u64,
}

/// # Safety
/// As pthread_create(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_create(
    thread: *mut libc::pthread_t,
    attributes: *const c_void,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    let Some(process) = armed::process() else {
        // SAFETY: the caller's arguments, passed on.
        return unsafe { real::pthread_create(thread, attributes, start, argument) };
    };
    let blocked = process.blocked_by_program();
    let errand = Box::into_raw(Box::new(Errand { start, argument, blocked }));
    // SAFETY: the caller's arguments, but for the start routine, which takes the errand.
    let result = unsafe { real::pthread_create(thread, attributes, begin, errand.cast()) };
    if result != 0 {
        // SAFETY: no thread was made, so nobody else has the errand.
        drop(unsafe { Box::from_raw(errand) });
    }
    result
}

/// Unwinds as the program's routine does: pthread_exit(3) and cancellation pass through.
unsafe extern "C-unwind" fn begin(errand: *mut c_void) -> *mut c_void {
    // SAFETY: `pthread_create` above made it for this thread alone.
    let Errand { start, argument, blocked } = *unsafe { Box::from_raw(errand.cast::<Errand>()) };
    if let Some(process) = armed::process() {
        // Without it, stops use the thread's own stack.
        let _ = process.adopt_thread();
        process.inherit_blocked(blocked);
    }
    // SAFETY: what the program asked for.
    unsafe { start(argument) }
}
