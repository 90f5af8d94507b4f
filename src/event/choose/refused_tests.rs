//! Choosing while a seccomp filter answers `perf_event_open` with each errno in turn.

#![allow(unsafe_code, reason = "a seccomp filter is installed by prctl")]

use std::time::{Duration, Instant};

use super::{ChooseError, Engine, choose};

/// `struct sock_filter`: code, jump if true, jump if false, operand (`include/uapi/linux/filter.h`).
const fn rule(code: u32, yes: u8, no: u8, operand: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: yes, jf: no, k: operand }
}

/// From now on this thread, and what it clones, gets `errno` for `perf_event_open`.
fn refuse(errno: i32) {
    let perf_event_open = libc::SYS_perf_event_open as u32;
    let mut rules = [
        rule(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        rule(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, perf_event_open),
        rule(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | errno as u32),
        rule(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: rules.len() as u16, filter: rules.as_mut_ptr() };
    // SAFETY: the option takes numbers only.
    let privileges = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    // SAFETY:
    // - `program` and its rules live through the call; the filter binds this thread only.
    let filter = unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) };
    assert_eq!((privileges, filter), (0, 0));
}

/// What the breakpoint engine says, and how long both choices took.
fn choose_refused(errno: i32) -> (String, Duration) {
    let chosen = std::thread::spawn(move || {
        refuse(errno);
        let start = Instant::now();
        let auto = choose(None, None);
        (choose(Some(Engine::Breakpoint), None), auto, start.elapsed())
    });
    let (chosen, auto, took) = chosen.join().unwrap();
    let auto = auto.expect("the trap flag needs no perf");
    assert_eq!((auto.engine, auto.patch), (Engine::TrapFlag, true), "{auto:?}");
    let error = chosen.expect_err("perf_event_open is refused");
    assert!(matches!(error, ChooseError::Refused(_)), "{error:?}");
    (error.to_string(), took)
}

#[test]
fn each_errno_gives_its_name_number_cause_and_remedy_at_once() {
    let expected = [
        (libc::EPERM, "EPERM (1), a seccomp filter refuses perf_event_open; allow perf_event_open"),
        (libc::ENOENT, "ENOENT (2), no hardware breakpoints here; boot a kernel built with"),
        (libc::ENOSYS, "ENOSYS (38), a seccomp filter refuses perf_event_open; allow perf_event_open"),
        (libc::ENOSPC, "ENOSPC (28), all four debug registers are taken; free one"),
        (libc::EBUSY, "EBUSY (16), all four debug registers are taken; free one"),
        (libc::EMFILE, "descriptors (RLIMIT_NOFILE) is reached; ulimit -n"),
        (libc::ENFILE, "ENFILE (23), the system's limit on open files is reached; sudo sysctl fs.file-max"),
        (libc::ENOMEM, "ENOMEM (12), the kernel has no memory left; free memory"),
        (libc::EINVAL, "EINVAL (22), not the kernel's usual answer; a seccomp filter is in force; allow"),
        (libc::EOPNOTSUPP, "EOPNOTSUPP (95), no hardware breakpoints here; boot"),
    ];
    for (errno, text) in expected {
        let (message, took) = choose_refused(errno);
        assert!(message.contains(text), "errno {errno}: {message}");
        assert!(took < Duration::from_secs(5), "errno {errno} took {took:?}");
    }
}
