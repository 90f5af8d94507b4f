//! Signals that reach the supervisor while the program runs.

#![allow(unsafe_code, reason = "sigaction, and a handler that forwards by kill(2)")]

use std::sync::atomic::{AtomicI32, Ordering};

use nix::sys::signal::SigSet;
use nix::sys::signal::Signal;
use nix::unistd::Pid;

use crate::cli::inherited;

/// The program, for [`forward`]; 0 before it runs and after it ended.
/// ATOMICS: relaxed, the handler runs in the thread that stores; there is no other.
static PROGRAM: AtomicI32 = AtomicI32::new(0);

const FORWARDED: [Signal; 4] = [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM, Signal::SIGHUP];

/// Signals wait from now on, until [`forward_to`] says for whom.
pub fn hold() {
    let forwarded: SigSet = FORWARDED.into_iter().collect();
    let _ = forwarded.thread_block();
}

/// From now on the program gets what this process is sent.
pub fn forward_to(program: Pid) {
    let at_start = inherited::signal_state();
    PROGRAM.store(program.as_raw(), Ordering::Relaxed);
    for signal in FORWARDED.into_iter().filter(|signal| !at_start.ignored(*signal as i32)) {
        install(signal as i32);
    }
    let forwarded: SigSet = FORWARDED.into_iter().collect();
    let _ = forwarded.thread_unblock();
}

/// The program has ended, and its number may soon be another's.
pub fn stop() {
    PROGRAM.store(0, Ordering::Relaxed);
}

fn install(signal: i32) {
    // SAFETY:
    // - an all-zero sigaction is valid, its mask empty;
    // - `forward` has the type that a handler with SA_SIGINFO has.
    unsafe {
        let mut action = std::mem::zeroed::<libc::sigaction>();
        action.sa_sigaction = forward as extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) as usize;
        action.sa_flags = libc::SA_SIGINFO;
        libc::sigaction(signal, &raw const action, std::ptr::null_mut());
    }
}

/// What a terminal sends has gone to the program already.
///
/// # Signal safety
/// One atomic load and `kill(2)`, which is async-signal-safe; errno is put back.
extern "C" fn forward(signal: i32, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    let program = PROGRAM.load(Ordering::Relaxed);
    // SAFETY:
    // - the kernel passes a live siginfo;
    // - kill takes no pointer, and errno belongs to the interrupted thread.
    unsafe {
        if program > 0 && (*info).si_code != libc::SI_KERNEL {
            let errno = *libc::__errno_location();
            libc::kill(program, signal);
            *libc::__errno_location() = errno;
        }
    }
}
