//! Files of `/proc/self`, opened without libc.

#![allow(unsafe_code, reason = "a file is opened and closed with raw system calls")]

use std::ffi::CStr;

use crate::raw::{self, Errno};

pub(super) const MAPS: &CStr = c"/proc/self/maps";
const TASKS: &CStr = c"/proc/self/task";
pub(super) const MEM: &CStr = c"/proc/self/mem";

/// How many threads this process has; `None` without /proc.
///
/// # Signal safety
/// stat.
pub(super) fn threads() -> Option<u64> {
    let mut status = std::mem::MaybeUninit::<libc::stat>::uninit();
    let arguments = [TASKS.as_ptr() as u64, status.as_mut_ptr() as u64, 0, 0, 0, 0];
    // SAFETY: a NUL-terminated path, and room for what stat(2) writes.
    unsafe { raw::syscall(libc::SYS_stat, arguments) }.ok()?;
    // SAFETY: written by the call just made.
    let links = unsafe { status.assume_init() }.st_nlink;
    // A directory's two, and one for each of its own (Linux fs/proc/base.c, proc_task_getattr).
    links.checked_sub(2)
}

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

#[cfg(test)]
mod tests {
    #[test]
    fn threads_are_counted() {
        let counted = std::thread::spawn(super::threads).join().ok().flatten();
        assert!(counted.is_some_and(|threads| threads >= 2), "{counted:?}");
    }
}
