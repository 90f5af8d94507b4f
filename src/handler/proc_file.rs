//! Files of `/proc/self`, opened without libc.

#![allow(unsafe_code, reason = "a file is opened and closed with raw system calls")]

use std::ffi::CStr;

use crate::raw::{self, Errno};

pub(super) const MAPS: &CStr = c"/proc/self/maps";
pub(super) const MEM: &CStr = c"/proc/self/mem";

/// Opens `path` (`O_RDONLY` or `O_WRONLY`), hands its descriptor to `work`, and closes it.
///
/// # Errors
/// openat's errno: ENOENT without /proc, EMFILE at the limit.
///
/// # Signal safety
/// openat and close, and what `work` does.
pub(super) fn with<T>(path: &CStr, access: i32, work: impl FnOnce(u64) -> T) -> Result<T, Errno> {
    let flags = (access | libc::O_CLOEXEC) as u64;
    // SAFETY: a NUL-terminated path, no other pointers.
    let fd = unsafe {
        raw::syscall(libc::SYS_openat, [libc::AT_FDCWD as u64, path.as_ptr() as u64, flags, 0, 0, 0])
    }?;
    let result = work(fd);
    // SAFETY: opened here.
    unsafe { raw::close(fd as i32) };
    Ok(result)
}
