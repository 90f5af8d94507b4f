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
/// The lower halves of the first four arguments.
const FIRST: u32 = 16;
const SECOND: u32 = 24;
const THIRD: u32 = 32;
const FOURTH: u32 = 40;

const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const AND: u16 = (libc::BPF_ALU | libc::BPF_AND | libc::BPF_K) as u16;
const JUMP_IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const JUMP_IF_GREATER: u16 = (libc::BPF_JMP | libc::BPF_JGT | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

/// Where a jump of [`PROGRAM`] leads.
#[derive(Clone, Copy)]
enum To {
    Next,
    Trace,
    Allow,
    Ioctl,
    Prctl,
    Clone,
    EpollWait,
    SocketOption,
}

#[derive(Clone, Copy)]
enum Statement {
    Load(u32),
    And(u32),
    Equal(u32, To, To),
    Greater(u32, To, To),
    Label(To),
    Return(u32),
}

use Statement::{And, Equal, Greater, Label, Load, Return};

const fn number(number: i64, to: To) -> Statement {
    Equal(number as u32, to, To::Next)
}

/// perf_event_open, ioctls of type `$`, `prctl(PR_TASK_PERF_EVENTS_*)`, a clone that no tracer would see, and what takes a
/// descriptor from another process. Then the calls that wait for a while and are not made again by the kernel where a signal
/// that nobody handles has cut them short (`signal(7)`): only from their entry on is it known how long they still have to wait.
const PROGRAM: [Statement; 44] = [
    Load(ARCH),
    Equal(AUDIT_ARCH_X86_64, To::Next, To::Allow),
    Load(NUMBER),
    number(libc::SYS_perf_event_open, To::Trace),
    number(libc::SYS_pidfd_getfd, To::Trace),
    number(libc::SYS_rt_sigtimedwait, To::Trace),
    number(libc::SYS_semtimedop, To::Trace),
    number(libc::SYS_io_getevents, To::Trace),
    number(libc::SYS_epoll_pwait2, To::Trace),
    number(libc::SYS_ioctl, To::Ioctl),
    number(libc::SYS_prctl, To::Prctl),
    number(libc::SYS_clone, To::Clone),
    number(libc::SYS_epoll_wait, To::EpollWait),
    number(libc::SYS_epoll_pwait, To::EpollWait),
    number(libc::SYS_setsockopt, To::SocketOption),
    Return(libc::SECCOMP_RET_ALLOW),
    Label(To::Ioctl),
    Load(SECOND),
    And(0xff00),
    Equal((b'$' as u32) << 8, To::Trace, To::Allow),
    Label(To::Prctl),
    Load(FIRST),
    Equal(libc::PR_TASK_PERF_EVENTS_DISABLE as u32, To::Trace, To::Next),
    Equal(libc::PR_TASK_PERF_EVENTS_ENABLE as u32, To::Trace, To::Allow),
    Label(To::Clone),
    Load(FIRST),
    And(libc::CLONE_UNTRACED as u32),
    Equal(0, To::Allow, To::Trace),
    Label(To::EpollWait),
    // For ever, and not at all, need no measure.
    Load(FOURTH),
    Greater(i32::MAX as u32, To::Allow, To::Next),
    Equal(0, To::Allow, To::Trace),
    Label(To::SocketOption),
    Load(SECOND),
    Equal(libc::SOL_SOCKET as u32, To::Next, To::Allow),
    Load(THIRD),
    Equal(SO_RCVTIMEO_OLD, To::Trace, To::Next),
    Equal(SO_SNDTIMEO_OLD, To::Trace, To::Next),
    Equal(SO_RCVTIMEO_NEW, To::Trace, To::Next),
    Equal(SO_SNDTIMEO_NEW, To::Trace, To::Allow),
    Label(To::Trace),
    Return(libc::SECCOMP_RET_TRACE),
    Label(To::Allow),
    Return(libc::SECCOMP_RET_ALLOW),
];

/// `include/uapi/asm-generic/socket.h`.
const SO_RCVTIMEO_OLD: u32 = 20;
const SO_SNDTIMEO_OLD: u32 = 21;
const SO_RCVTIMEO_NEW: u32 = 66;
const SO_SNDTIMEO_NEW: u32 = 67;

/// Labels are no statements of the kernel's.
const LABELS: usize = 7;
const FILTER: [sock_filter; PROGRAM.len() - LABELS] = assemble();

const fn assemble() -> [sock_filter; PROGRAM.len() - LABELS] {
    let mut filter =
        [sock_filter { code: RETURN, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW }; PROGRAM.len() - LABELS];
    let (mut place, mut from) = (0, 0);
    while from < PROGRAM.len() {
        let (code, k, yes, no) = match PROGRAM[from] {
            Label(_) => {
                from += 1;
                continue;
            }
            Load(offset) => (LOAD, offset, To::Next, To::Next),
            And(mask) => (AND, mask, To::Next, To::Next),
            Equal(value, yes, no) => (JUMP_IF_EQUAL, value, yes, no),
            Greater(value, yes, no) => (JUMP_IF_GREATER, value, yes, no),
            Return(action) => (RETURN, action, To::Next, To::Next),
        };
        filter[place] = sock_filter { code, jt: distance(from, yes), jf: distance(from, no), k };
        place += 1;
        from += 1;
    }
    filter
}

/// How many statements lie between the one at `from` and the label.
const fn distance(from: usize, to: To) -> u8 {
    if matches!(to, To::Next) {
        return 0;
    }
    let (mut at, mut between) = (from + 1, 0);
    loop {
        match PROGRAM[at] {
            Label(label) if label as u8 == to as u8 => return between,
            Label(_) => {}
            _ => between += 1,
        }
        at += 1;
    }
}

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
    fn verdict(number: i64, arguments: [u32; 4], arch: u32) -> u32 {
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
                        THIRD => arguments[2],
                        FOURTH => arguments[3],
                        other => panic!("offset {other}"),
                    }
                }
                AND => accumulator &= it.k,
                JUMP_IF_EQUAL => at += usize::from(if accumulator == it.k { it.jt } else { it.jf }),
                JUMP_IF_GREATER => at += usize::from(if accumulator > it.k { it.jt } else { it.jf }),
                RETURN => return it.k,
                other => panic!("statement {other:#x}"),
            }
        }
    }

    #[test]
    fn only_the_calls_that_may_concern_an_event_stop() {
        let here = |number, arguments| verdict(number, arguments, AUDIT_ARCH_X86_64);
        let stops = |number, arguments| here(number, arguments) == libc::SECCOMP_RET_TRACE;
        assert!(stops(libc::SYS_perf_event_open, [0; 4]));
        assert!(stops(libc::SYS_ioctl, [3, 0x4008_2404, 0, 0]));
        assert!(!stops(libc::SYS_ioctl, [1, libc::TIOCGWINSZ as u32, 0, 0]));
        assert!(stops(libc::SYS_prctl, [31, 0, 0, 0]));
        assert!(stops(libc::SYS_prctl, [32, 0, 0, 0]));
        assert!(!stops(libc::SYS_prctl, [33, 0, 0, 0]));
        assert!(!stops(libc::SYS_read, [31, 0x2400, 0, 0]));
        assert!(!stops(libc::SYS_clone, [0x1200_0011, 0, 0, 0]));
        assert!(stops(libc::SYS_clone, [libc::CLONE_UNTRACED as u32 | 17, 0, 0, 0]));
        assert!(stops(libc::SYS_pidfd_getfd, [0; 4]));
        // i386 has other numbers.
        assert_eq!(verdict(libc::SYS_perf_event_open, [0; 4], 0x4000_0003), libc::SECCOMP_RET_ALLOW);
    }

    #[test]
    fn waits_that_end_by_themselves_stop() {
        let stops =
            |number, arguments| verdict(number, arguments, AUDIT_ARCH_X86_64) == libc::SECCOMP_RET_TRACE;
        for number in [libc::SYS_epoll_wait, libc::SYS_epoll_pwait] {
            assert!(stops(number, [3, 0, 1, 700]));
            assert!(!stops(number, [3, 0, 1, 0]));
            assert!(!stops(number, [3, 0, 1, u32::MAX]));
        }
        assert!(stops(libc::SYS_rt_sigtimedwait, [0; 4]));
        assert!(stops(libc::SYS_setsockopt, [3, 1, libc::SO_RCVTIMEO as u32, 0]));
        assert!(stops(libc::SYS_setsockopt, [3, 1, SO_SNDTIMEO_NEW, 0]));
        assert!(!stops(libc::SYS_setsockopt, [3, 6, 20, 0]));
        assert!(!stops(libc::SYS_setsockopt, [3, 1, libc::SO_REUSEADDR as u32, 0]));
    }
}
