//! sigwait(3) and its kin. A signal of the tracer's numbers that the program has sent itself never stays pending in the
//! kernel, since the tracer does not block it: it waits in the tracer's table, which is looked at between short waits.
//!
//! Cancellation points: nothing here may have to be dropped while the real function waits.

use std::ffi::c_int;
use std::ptr::{null, null_mut};

use overstep::handler::held::Info;
use overstep::handler::process::Process;

use super::errno::{errno, failed};
use crate::armed;

/// How long a signal that another thread's handler has put into the table may go unseen, in nanoseconds.
const SLICE: i64 = 20_000_000;
const SECOND: i64 = 1_000_000_000;

mod real {
    use super::c_int;
    crate::real!(pub fn sigtimedwait(set: *const libc::sigset_t, info: *mut libc::siginfo_t, timeout: *const libc::timespec) -> c_int);
    crate::real!(pub fn sigwaitinfo(set: *const libc::sigset_t, info: *mut libc::siginfo_t) -> c_int);
    crate::real!(pub fn sigwait(set: *const libc::sigset_t, signal: *mut c_int) -> c_int);
}

/// # Safety
/// As sigtimedwait(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigtimedwait(
    set: *const libc::sigset_t,
    info: *mut libc::siginfo_t,
    timeout: *const libc::timespec,
) -> c_int {
    // SAFETY: the caller's arguments, passed on.
    unsafe {
        match owned_in(set) {
            Some((process, owned)) => wait(process, owned, set, info, timeout),
            None => real::sigtimedwait(set, info, timeout),
        }
    }
}

/// # Safety
/// As sigwaitinfo(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigwaitinfo(set: *const libc::sigset_t, info: *mut libc::siginfo_t) -> c_int {
    // SAFETY: the caller's arguments, passed on.
    unsafe {
        match owned_in(set) {
            Some((process, owned)) => wait(process, owned, set, info, null()),
            None => real::sigwaitinfo(set, info),
        }
    }
}

/// # Safety
/// As sigwait(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigwait(set: *const libc::sigset_t, signal: *mut c_int) -> c_int {
    // SAFETY: the caller's arguments, passed on.
    unsafe {
        let Some((process, owned)) = owned_in(set) else { return real::sigwait(set, signal) };
        loop {
            match wait(process, owned, set, null_mut(), null()) {
                // Only sigwaitinfo tells of an interruption.
                -1 if errno() == libc::EINTR => {}
                -1 => return errno(),
                number => {
                    signal.write(number);
                    return 0;
                }
            }
        }
    }
}

/// The tracer's signals in `set`, if there are any.
///
/// # Safety
/// `set` is null or the caller's.
unsafe fn owned_in(set: *const libc::sigset_t) -> Option<(&'static Process, u64)> {
    let process = armed::process()?;
    // SAFETY: the caller's promise; the kernel's set is the first eight bytes.
    let owned = unsafe { set.cast::<u64>().as_ref() }? & process.signals.owned();
    (owned != 0).then_some((process, owned))
}

/// # Safety
/// As sigtimedwait(2).
unsafe fn wait(
    process: &Process,
    owned: u64,
    set: *const libc::sigset_t,
    info: *mut libc::siginfo_t,
    timeout: *const libc::timespec,
) -> c_int {
    // SAFETY: null or the caller's.
    let limit = unsafe { timeout.as_ref() };
    if limit.is_some_and(|limit| !(0..SECOND).contains(&limit.tv_nsec) || limit.tv_sec < 0) {
        return failed(libc::EINVAL);
    }
    let end = limit.map(|limit| now().saturating_add(nanoseconds(limit)));
    loop {
        if let Some((signal, held)) = process.take_held(owned) {
            if !info.is_null() {
                // SAFETY: the caller's place for a siginfo_t, which `Info` is as long as.
                unsafe { info.cast::<Info>().write_unaligned(held) };
                // SAFETY: just written.
                let code = unsafe { &mut (*info).si_code };
                // As the C library has it (glibc `sysdeps/unix/sysv/linux/sigtimedwait.c`).
                if *code == libc::SI_TKILL {
                    *code = libc::SI_USER;
                }
            }
            return signal;
        }
        let left = end.map_or(SLICE, |end| end - now());
        let slice = left.clamp(0, SLICE);
        let slice = libc::timespec { tv_sec: 0, tv_nsec: slice };
        // SAFETY: the caller's arguments, with a time of our own.
        let result = unsafe { real::sigtimedwait(set, info, &raw const slice) };
        if result != -1 || errno() != libc::EAGAIN || left <= 0 {
            return result;
        }
    }
}

fn nanoseconds(time: &libc::timespec) -> i64 {
    time.tv_sec.saturating_mul(SECOND).saturating_add(time.tv_nsec)
}

fn now() -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a place for the time.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    nanoseconds(&time)
}
