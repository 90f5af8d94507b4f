//! Numbers the kernel gives names to: signals, system calls, errors; and the tracer's own choices by name.

use std::borrow::Cow;

use super::compat_call;
use crate::record::control::{Delivery, Engine, StepMode};
use crate::record::verdict::Verdict;

/// A system call's name (`write`), or `syscall_N` where this version knows none; of one by the table of 32-bit programs
/// `i386_syscall_N`.
#[must_use]
pub fn syscall(number: u64) -> Cow<'static, str> {
    if let Some(number) = compat_call::number(number) {
        return match usize::try_from(number).ok().and_then(syscalls::x86::Sysno::new) {
            Some(call) => Cow::Borrowed(call.name()),
            None => Cow::Owned(format!("i386_syscall_{number}")),
        };
    }
    match usize::try_from(number).ok().and_then(syscalls::Sysno::new) {
        Some(call) => Cow::Borrowed(call.name()),
        None => Cow::Owned(format!("syscall_{number}")),
    }
}

/// An error's name (`ENOENT`), where `result` is a negated errno: -4095 to -1 (Linux `include/linux/err.h`).
#[must_use]
pub fn error(result: u64) -> Option<Cow<'static, str>> {
    let errno = i32::try_from((result as i64).checked_neg()?).ok().filter(|e| (1..=4095).contains(e))?;
    Some(match syscalls::Errno::new(errno).name() {
        Some(name) => Cow::Borrowed(name),
        None => Cow::Owned(format!("errno {errno}")),
    })
}

/// A signal's name (`SIGUSR1`); real-time ones as `SIGRTMIN+n` as glibc counts them, from 34 (signal(7)).
#[must_use]
pub fn signal(number: u32) -> Cow<'static, str> {
    let known = i32::try_from(number).ok().and_then(|n| nix::sys::signal::Signal::try_from(n).ok());
    match (known, number) {
        (Some(signal), _) => Cow::Borrowed(signal.as_str()),
        (None, 34) => Cow::Borrowed("SIGRTMIN"),
        (None, 35..=64) => Cow::Owned(format!("SIGRTMIN+{}", number - 34)),
        _ => Cow::Owned(format!("signal {number}")),
    }
}

/// An engine by the name the command line knows it by.
#[must_use]
pub const fn engine(engine: Engine) -> &'static str {
    match engine {
        Engine::Breakpoint => "breakpoint",
        Engine::TrapFlag => "trap-flag",
        Engine::Instructions => "instructions",
    }
}

/// A delivery by the name the command line knows it by.
#[must_use]
pub const fn delivery(delivery: Delivery) -> &'static str {
    match delivery {
        Delivery::Sigtrap => "sigtrap",
        Delivery::Fasync => "fasync",
        Delivery::Trap => "trap",
    }
}

/// A verdict by the name that the JSON contract has for it.
#[must_use]
pub const fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Exact => "exact",
        Verdict::Zero => "zero",
        Verdict::Skid(_) => "skid",
        Verdict::Reconstructed => "reconstructed",
        Verdict::Unexplained { .. } => "unexplained",
        Verdict::Lost => "lost",
    }
}

/// A step mode by the name the command line knows it by.
#[must_use]
pub const fn step_mode(step: StepMode) -> &'static str {
    match step {
        StepMode::Instruction => "instruction",
        StepMode::Block => "block",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_and_unknown() {
        assert_eq!(syscall(1), "write");
        assert_eq!(syscall(334), "rseq");
        assert_eq!(syscall(9_999), "syscall_9999");
        assert_eq!(error((-2_i64) as u64).as_deref(), Some("ENOENT"));
        assert_eq!(error((-512_i64) as u64).as_deref(), Some("ERESTARTSYS"), "a kernel-internal one");
        assert_eq!(error((-4095_i64) as u64).as_deref(), Some("errno 4095"));
        assert_eq!(error((-4096_i64) as u64), None, "an address, not an error");
        assert_eq!(error(5), None);
        assert_eq!(error(1 << 63), None, "i64::MIN has no negation");
        assert_eq!(signal(10), "SIGUSR1");
        assert_eq!(signal(36), "SIGRTMIN+2");
        assert_eq!(signal(99), "signal 99");
    }
}
