//! What no counter of this PMU takes: a filter, a program, other attributes. By which errno it is refused, the argument decides
//! (Linux `kernel/events/core.c`, `_perf_ioctl`).

use nix::errno::Errno;
use nix::unistd::Pid;

use crate::address::RuntimeAddr;
use crate::emulate::ring::PAGE;
use crate::emulate::{attr, descriptors, memory};

/// SET_FILTER: the string is read before anything else (`strndup_user`).
pub fn filter(thread: Pid, at: RuntimeAddr) -> Errno {
    let mut text = [0; PAGE];
    match memory::read_some(thread, at, &mut text) {
        Ok(read) if read == PAGE || text[..read].contains(&0) => Errno::EINVAL,
        _ => Errno::EFAULT,
    }
}

/// SET_BPF.
pub fn program(thread: Pid, descriptor: i32) -> Errno {
    if descriptors::is_open(thread, descriptor) { Errno::EINVAL } else { Errno::EBADF }
}

/// MODIFY_ATTRIBUTES of an event of type `own`: only breakpoints' change.
pub fn attributes(thread: Pid, own: Option<u32>, at: RuntimeAddr) -> Errno {
    match attr::read(thread, at) {
        Ok(new) if Some(new.type_) == own => Errno::EOPNOTSUPP,
        Ok(_) => Errno::EINVAL,
        Err(errno) => errno,
    }
}
