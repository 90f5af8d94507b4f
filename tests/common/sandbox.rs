//! A sandbox as containers have it: perf_event_open is refused, everything else is allowed.
#![allow(unsafe_code, reason = "a seccomp filter is installed between fork and exec")]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Refuses perf_event_open with `errno` in what `command` starts (seccomp(2), `SECCOMP_RET_ERRNO`).
pub fn refuse_perf(command: &mut Command, errno: i32) {
    const NUMBER_AT: u32 = 0; // offsetof(struct seccomp_data, nr)
    let load = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    let equal = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    let give = (libc::BPF_RET | libc::BPF_K) as u16;
    let instruction = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mut filter = [
        instruction(load, 0, 0, NUMBER_AT),
        instruction(equal, 0, 1, libc::SYS_perf_event_open as u32),
        instruction(give, 0, 0, libc::SECCOMP_RET_ERRNO | errno as u32),
        instruction(give, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let install = move || {
        let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
        // SAFETY: plain numbers; the program and its filter live through the call.
        let installed = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
        };
        if installed { Ok(()) } else { Err(io::Error::last_os_error()) }
    };
    // SAFETY: two system calls, nothing that needs a lock.
    unsafe { command.pre_exec(install) };
}
