//! Functions by which code leaves its frames. The tracer has to know where control comes back when code that it does not
//! step calls them.

use std::ffi::{c_int, c_void};

use overstep::handler::crossing;

use super::look_first::look_first;
use crate::armed;
use crate::real::Real;

static LONGJMP: Real = Real::named(c"longjmp");
static UNDERSCORE_LONGJMP: Real = Real::named(c"_longjmp");
static SIGLONGJMP: Real = Real::named(c"siglongjmp");
static CHECKED_LONGJMP: Real = Real::named(c"__longjmp_chk");
static SETCONTEXT: Real = Real::named(c"setcontext");
static SWAPCONTEXT: Real = Real::named(c"swapcontext");
static SET_IP: Real = Real::in_library(c"_Unwind_SetIP", c"libgcc_s.so.1");

look_first!(
    /// # Safety
    /// As longjmp(3).
    longjmp, before_longjmp, crossing::jump
);
look_first!(
    /// # Safety
    /// As longjmp(3).
    _longjmp, before_underscore_longjmp, crossing::jump
);
look_first!(
    /// # Safety
    /// As siglongjmp(3).
    siglongjmp, before_siglongjmp, crossing::jump
);
look_first!(
    /// # Safety
    /// As longjmp(3).
    __longjmp_chk, before_checked_longjmp, crossing::jump
);
look_first!(
    /// # Safety
    /// As setcontext(3).
    setcontext, before_setcontext, crossing::jump
);
look_first!(
    /// # Safety
    /// As swapcontext(3).
    swapcontext, before_swapcontext, crossing::jump
);
look_first!(
    /// # Safety
    /// As libgcc's function.
    _Unwind_SetIP, before_set_ip, crossing::landing
);

/// The beginning of `struct __jmp_buf_tag` (glibc `setjmp/bits/types/struct___jmp_buf_tag.h`).
#[repr(C)]
struct JumpBuffer {
    registers: [u64; 8],
    mask_was_saved: c_int,
}

unsafe extern "C" fn before_longjmp(buffer: *const JumpBuffer) -> *mut c_void {
    // SAFETY: the caller's buffer.
    unsafe { settle_mask(buffer) };
    LONGJMP.address()
}

unsafe extern "C" fn before_underscore_longjmp(buffer: *const JumpBuffer) -> *mut c_void {
    // SAFETY: the caller's buffer.
    unsafe { settle_mask(buffer) };
    UNDERSCORE_LONGJMP.address()
}

unsafe extern "C" fn before_siglongjmp(buffer: *const JumpBuffer) -> *mut c_void {
    // SAFETY: the caller's buffer.
    unsafe { settle_mask(buffer) };
    SIGLONGJMP.address()
}

unsafe extern "C" fn before_checked_longjmp(buffer: *const JumpBuffer) -> *mut c_void {
    // SAFETY: the caller's buffer.
    unsafe { settle_mask(buffer) };
    CHECKED_LONGJMP.address()
}

extern "C" fn before_setcontext() -> *mut c_void {
    SETCONTEXT.address()
}

extern "C" fn before_swapcontext() -> *mut c_void {
    SWAPCONTEXT.address()
}

extern "C" fn before_set_ip() -> *mut c_void {
    SET_IP.address()
}

/// A jump that restores a mask restores what sigsetjmp(3) found in the kernel: the tracer's signals unblocked.
///
/// # Safety
/// `buffer` is what setjmp(3) filled in.
unsafe fn settle_mask(buffer: *const JumpBuffer) {
    // SAFETY: the caller's promise.
    let mask_was_saved = unsafe { (*buffer).mask_was_saved } != 0;
    if let Some(process) = armed::process().filter(|_| mask_was_saved) {
        process.believe_unblocked();
    }
}
