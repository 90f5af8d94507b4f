//! New threads get the tracer's alternate stack before the program's code runs in them: a stop must not need the
//! program's stack, which may be tiny.

use std::arch::naked_asm;
use std::ffi::{c_int, c_void};

use crate::armed;

type Start = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;

mod real {
    use super::{Start, c_int, c_void};
    crate::real!(pub fn pthread_create(thread: *mut libc::pthread_t, attributes: *const c_void, start: Start, argument: *mut c_void) -> c_int);
}

/// What the program asked the new thread to run.
struct Errand {
    begin: Beginning,
    /// The tracer's signals that the creating thread believes it blocks: a mask is inherited.
    blocked: u64,
}

/// The program's start routine and its argument.
#[derive(Clone, Copy)]
#[repr(C)]
struct Beginning {
    start: Start,
    argument: *mut c_void,
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
    let errand = Errand { begin: Beginning { start, argument }, blocked: process.blocked_by_program() };
    let errand = Box::into_raw(Box::new(errand));
    // SAFETY: the caller's arguments, but for the start routine, which takes the errand.
    let result = unsafe { real::pthread_create(thread, attributes, begin, errand.cast()) };
    if result != 0 {
        // SAFETY: no thread was made, so nobody else has the errand.
        drop(unsafe { Box::from_raw(errand) });
    }
    result
}

/// Jumps to the program's start routine: no frame of ours stays below it, since pthread_exit(3) and cancellation
/// unwind the stack to its end, and would end the process at a frame of Rust code that is compiled to abort.
#[unsafe(naked)]
unsafe extern "C-unwind" fn begin(errand: *mut c_void) -> *mut c_void {
    naked_asm!(
        "push rax",
        "call {adopt}",
        "mov rdi, rdx",
        "pop rdx",
        "jmp rax",
        adopt = sym adopt,
    )
}

/// Gets the new thread ready; what it is to run.
///
/// # Safety
/// `errand` is what [`pthread_create`] made for this thread alone.
unsafe extern "C" fn adopt(errand: *mut c_void) -> Beginning {
    // SAFETY: the caller's promise.
    let Errand { begin, blocked } = *unsafe { Box::from_raw(errand.cast::<Errand>()) };
    if let Some(process) = armed::process() {
        // Without it, stops use the thread's own stack.
        let _ = process.adopt_thread();
        process.believe_blocked(blocked);
    }
    begin
}
