//! The seccomp filter a program runs under: it stops only at the calls that may concern an emulated event, so that
//! everything else costs nothing (`seccomp(2)`, SECCOMP_RET_TRACE).

#![allow(unsafe_code, reason = "prctl and seccomp take pointers")]

use libc::sock_filter;
use nix::errno::Errno;

/// `AUDIT_ARCH_X86_64` (`include/uapi/linux/audit.h`).
const AUDIT_ARCH_X86_64: u32 = 0xc000_003e;
/// Offsets in `struct seccomp_data`.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;
/// The lower half of the first and the second argument.
const FIRST: u32 = 16;
const SECOND: u32 = 24;

const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const AND: u16 = (libc::BPF_ALU | libc::BPF_AND | libc::BPF_K) as u16;
const JUMP_IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

const fn statement(code: u16, k: u32) -> sock_filter {
    sock_filter { code, jt: 0, jf: 0, k }
}

/// Skips `jt` statements when equal, `jf` when not.
const fn equal(k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code: JUMP_IF_EQUAL, jt, jf, k }
}

/// perf_event_open, ioctls of type `$`, `prctl(PR_TASK_PERF_EVENTS_*)`, and a clone that no tracer would see.
const FILTER: [sock_filter; 19] = [
    statement(LOAD, ARCH),
    equal(AUDIT_ARCH_X86_64, 0, 16),
    statement(LOAD, NUMBER),
    equal(libc::SYS_perf_event_open as u32, 13, 0),
    equal(libc::SYS_ioctl as u32, 3, 0),
    equal(libc::SYS_prctl as u32, 5, 0),
    equal(libc::SYS_clone as u32, 7, 0),
    statement(RETURN, libc::SECCOMP_RET_ALLOW),
    statement(LOAD, SECOND),
    statement(AND, 0xff00),
    equal((b'$' as u32) << 8, 6, 7),
    statement(LOAD, FIRST),
    equal(libc::PR_TASK_PERF_EVENTS_DISABLE as u32, 4, 0),
    equal(libc::PR_TASK_PERF_EVENTS_ENABLE as u32, 3, 4),
    statement(LOAD, FIRST),
    statement(AND, libc::CLONE_UNTRACED as u32),
    equal(0, 1, 0),
    statement(RETURN, libc::SECCOMP_RET_TRACE),
    statement(RETURN, libc::SECCOMP_RET_ALLOW),
];

/// Puts the calling thread, and what it will start, under the filter.
///
/// Without CAP_SYS_ADMIN the kernel wants no_new_privs first, which a tracee gets no harm from: a set-user-id
/// program under ptrace gains nothing anyway (`execve(2)`).
///
/// # Errors
/// ENOSYS, EINVAL: this kernel has no seccomp filters. EACCES: they are refused.
///
/// # Signal safety
/// System calls only: it runs in a forked child.
pub fn install() -> Result<(), Errno> {
    set().or_else(|errno| match errno {
        Errno::EACCES => {
            // SAFETY: PR_SET_NO_NEW_PRIVS takes numbers only.
            Errno::result(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })?;
            set()
        }
        other => Err(other),
    })
}

fn set() -> Result<(), Errno> {
    let program = libc::sock_fprog { len: FILTER.len() as u16, filter: FILTER.as_ptr().cast_mut() };
    // SAFETY: the kernel copies the program, and its statements, which are constants.
    Errno::result(unsafe {
        libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program, 0, 0)
    })
    .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the filter as the kernel would, for the few statements it has.
    fn verdict(number: i64, arguments: [u32; 2], arch: u32) -> u32 {
        let mut at = 0;
        let mut accumulator = 0;
        loop {
            let it = FILTER[at];
            at += 1;
            match it.code {
                LOAD => {
                    accumulator = match it.k {
                        NUMBER => number as u32,
                        ARCH => arch,
                        FIRST => arguments[0],
                        SECOND => arguments[1],
                        other => panic!("offset {other}"),
                    }
                }
                AND => accumulator &= it.k,
                JUMP_IF_EQUAL => at += usize::from(if accumulator == it.k { it.jt } else { it.jf }),
                RETURN => return it.k,
                other => panic!("statement {other:#x}"),
            }
        }
    }

    #[test]
    fn only_the_calls_that_may_concern_an_event_stop() {
        let here = |number, arguments| verdict(number, arguments, AUDIT_ARCH_X86_64);
        assert_eq!(here(libc::SYS_perf_event_open, [0, 0]), libc::SECCOMP_RET_TRACE);
        assert_eq!(here(libc::SYS_ioctl, [3, 0x4008_2404]), libc::SECCOMP_RET_TRACE);
        assert_eq!(here(libc::SYS_ioctl, [1, libc::TIOCGWINSZ as u32]), libc::SECCOMP_RET_ALLOW);
        assert_eq!(here(libc::SYS_prctl, [31, 0]), libc::SECCOMP_RET_TRACE);
        assert_eq!(here(libc::SYS_prctl, [32, 0]), libc::SECCOMP_RET_TRACE);
        assert_eq!(here(libc::SYS_prctl, [33, 0]), libc::SECCOMP_RET_ALLOW);
        assert_eq!(here(libc::SYS_read, [31, 0x2400]), libc::SECCOMP_RET_ALLOW);
        assert_eq!(here(libc::SYS_clone, [0x1200_0011, 0]), libc::SECCOMP_RET_ALLOW);
        assert_eq!(here(libc::SYS_clone, [libc::CLONE_UNTRACED as u32 | 17, 0]), libc::SECCOMP_RET_TRACE);
        // i386 has other numbers.
        assert_eq!(verdict(libc::SYS_perf_event_open, [0, 0], 0x4000_0003), libc::SECCOMP_RET_ALLOW);
    }
}
