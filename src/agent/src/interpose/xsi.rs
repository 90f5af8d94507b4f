//! The older interfaces to signals, by way of ours of the newer ones: in the C library they reach the kernel without
//! passing by its public functions.

use std::ffi::c_int;
use std::ptr::{null, null_mut};

use super::action::{sigaction, signal, sysv_signal};
use super::errno::failed;
use super::mask::sigprocmask;

/// `SIG_HOLD` of <signal.h>.
const HOLD: libc::sighandler_t = 2;

/// # Safety
/// As sighold(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sighold(number: c_int) -> c_int {
    change(libc::SIG_BLOCK, number).map_or(-1, |_| 0)
}

/// # Safety
/// As sigrelse(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigrelse(number: c_int) -> c_int {
    change(libc::SIG_UNBLOCK, number).map_or(-1, |_| 0)
}

/// # Safety
/// As sigignore(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigignore(number: c_int) -> c_int {
    let action = plain_action(libc::SIG_IGN);
    // SAFETY: a live action.
    unsafe { sigaction(number, &raw const action, null_mut()) }
}

/// # Safety
/// As sigset(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigset(number: c_int, disposition: libc::sighandler_t) -> libc::sighandler_t {
    let mut before = plain_action(libc::SIG_DFL);
    if disposition == libc::SIG_ERR {
        failed(libc::EINVAL);
        return libc::SIG_ERR;
    }
    let holds = disposition == HOLD;
    let wanted = plain_action(disposition);
    let new = if holds { null() } else { &raw const wanted };
    // SAFETY: null or a live action, and a place for one.
    if unsafe { sigaction(number, new, &raw mut before) } != 0 {
        return libc::SIG_ERR;
    }
    match change(if holds { libc::SIG_BLOCK } else { libc::SIG_UNBLOCK }, number) {
        None => libc::SIG_ERR,
        Some(true) => HOLD,
        Some(false) => before.sa_sigaction,
    }
}

/// # Safety
/// As bsd_signal(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsd_signal(number: c_int, handler: libc::sighandler_t) -> libc::sighandler_t {
    // SAFETY: the caller's arguments.
    unsafe { signal(number, handler) }
}

/// # Safety
/// As signal(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssignal(number: c_int, handler: libc::sighandler_t) -> libc::sighandler_t {
    // SAFETY: the caller's arguments.
    unsafe { signal(number, handler) }
}

/// What <signal.h> makes of `signal` under _XOPEN_SOURCE.
///
/// # Safety
/// As sysv_signal(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __sysv_signal(number: c_int, handler: libc::sighandler_t) -> libc::sighandler_t {
    // SAFETY: the caller's arguments.
    unsafe { sysv_signal(number, handler) }
}

/// # Safety
/// As sigblock(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigblock(mask: c_int) -> c_int {
    change_first(libc::SIG_BLOCK, mask)
}

/// # Safety
/// As sigsetmask(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigsetmask(mask: c_int) -> c_int {
    change_first(libc::SIG_SETMASK, mask)
}

/// Changes the mask by one of the first 32 signals; those that were blocked before.
fn change_first(how: c_int, mask: c_int) -> c_int {
    let (mut set, mut before) = (empty(), empty());
    // SAFETY: live sets; the kernel's is the first eight bytes of each.
    unsafe {
        (&raw mut set).cast::<u64>().write(u64::from(mask as u32));
        sigprocmask(how, &raw const set, &raw mut before);
        (&raw const before).cast::<u64>().read() as c_int
    }
}

/// Blocks or unblocks one signal: whether it was blocked before. `None` after a failure, with errno set.
fn change(how: c_int, number: c_int) -> Option<bool> {
    let mut set = empty();
    let mut before = empty();
    // SAFETY: live sets; the C library checks the number.
    unsafe {
        let done = libc::sigaddset(&raw mut set, number) == 0
            && sigprocmask(how, &raw const set, &raw mut before) == 0;
        done.then(|| libc::sigismember(&raw const before, number) == 1)
    }
}

fn plain_action(handler: libc::sighandler_t) -> libc::sigaction {
    libc::sigaction { sa_sigaction: handler, sa_mask: empty(), sa_flags: 0, sa_restorer: None }
}

fn empty() -> libc::sigset_t {
    // SAFETY: zero is an empty set.
    unsafe { std::mem::zeroed() }
}
