//! How a function of the C library fails.

use std::ffi::c_int;

/// Sets errno; what the function returns then.
pub fn failed(errno: c_int) -> c_int {
    // SAFETY: the calling thread's errno.
    unsafe { *libc::__errno_location() = errno };
    -1
}

/// The calling thread's errno.
pub fn errno() -> c_int {
    // SAFETY: as above.
    unsafe { *libc::__errno_location() }
}
