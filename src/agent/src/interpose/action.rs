//! Signal dispositions: what the program sets for the tracer's signals is remembered and read back, not installed.

use std::ffi::c_int;

use overstep::handler::program_signals::mask_bit;
use overstep::handler::sigaction::KernelAction;
use overstep::handler::wrapper;

use crate::armed;

type Handler = libc::sighandler_t;

/// A flag without a meaning, which sysv_signal(3) sets (glibc `sysdeps/posix/sysv_signal.c`).
const SA_INTERRUPT: c_int = 0x2000_0000;

mod real {
    use super::{Handler, c_int};
    crate::real!(pub fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int);
    crate::real!(pub fn signal(number: c_int, handler: Handler) -> Handler);
    crate::real!(pub fn sysv_signal(number: c_int, handler: Handler) -> Handler);
}

/// # Safety
/// As sigaction(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    let Some(signals) = armed::process().map(|process| &process.signals) else {
        // SAFETY: the caller's arguments, passed on.
        return unsafe { real::sigaction(signal, new, old) };
    };
    let Some(before) = signals.action(signal) else {
        // SAFETY: the caller's arguments.
        return unsafe { install(signals.owned(), signal, new, old) };
    };
    // SAFETY: null or the caller's.
    if let Some(new) = unsafe { new.as_ref() } {
        signals.set_by_library(signal, kernel_action(new));
    }
    // SAFETY: null or the caller's.
    if let Some(old) = unsafe { old.as_mut() } {
        write_action(old, &before);
    }
    0
}

/// [`sigaction`] for a signal that is not the tracer's: a handler is installed behind its wrapper.
///
/// # Safety
/// As sigaction(2).
unsafe fn install(
    owned: u64,
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    // SAFETY: null or the caller's.
    let wanted = unsafe { new.as_ref() };
    let wrapping = wanted.map(|wanted| wrapper::wrap(signal, &kernel_action(wanted), owned));
    let to_install = wanted.zip(wrapping.as_ref()).map(|(wanted, wrapping)| {
        let mut action = *wanted;
        action.sa_sigaction = wrapping.action.handler as usize;
        action.sa_flags = wrapping.action.flags as c_int;
        // SAFETY: sigset_t is 128 bytes; the kernel's set is its first eight.
        unsafe { (&raw mut action.sa_mask).cast::<u64>().write(wrapping.action.mask) };
        action
    });
    let pointer = to_install.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: null or a live action; the caller's place for the old one.
    let result = unsafe { real::sigaction(signal, pointer, old) };
    if result != 0 {
        let _ = wrapping.map(|wrapping| wrapping.undo());
        return result;
    }
    // SAFETY: null or the caller's.
    if let Some(old) = unsafe { old.as_mut() } {
        let installed = kernel_action(old);
        let before = match &wrapping {
            Some(wrapping) => wrapping.before(&installed),
            None => wrapper::as_program_sees(signal, &installed),
        };
        old.sa_sigaction = before.handler as usize;
        old.sa_flags = before.flags as c_int;
        // SAFETY: as above.
        unsafe { (&raw mut old.sa_mask).cast::<u64>().write(before.mask) };
    }
    0
}

/// # Safety
/// As signal(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn signal(number: c_int, handler: Handler) -> Handler {
    // BSD semantics: the signal stays blocked meanwhile, and calls are restarted.
    replace(number, handler, libc::SA_RESTART, mask_bit(number)).unwrap_or_else(|| {
        // SAFETY: the caller's arguments, passed on.
        install_plainly(number, handler, |handler| unsafe { real::signal(number, handler) })
    })
}

/// # Safety
/// As sysv_signal(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sysv_signal(number: c_int, handler: Handler) -> Handler {
    replace(number, handler, libc::SA_RESETHAND | libc::SA_NODEFER | SA_INTERRUPT, 0).unwrap_or_else(|| {
        // SAFETY: the caller's arguments, passed on.
        install_plainly(number, handler, |handler| unsafe { real::sysv_signal(number, handler) })
    })
}

/// signal(2) of a signal that is not the tracer's, by the C library's function: a handler behind its wrapper.
fn install_plainly(signal: c_int, handler: Handler, real: impl Fn(Handler) -> Handler) -> Handler {
    if armed::process().is_none() || handler == libc::SIG_ERR {
        return real(handler);
    }
    let wanted = KernelAction { handler: handler as u64, flags: 0, restorer: 0, mask: 0 };
    let wrapping = wrapper::wrap(signal, &wanted, 0);
    let installed = real(wrapping.action.handler as Handler);
    if installed == libc::SIG_ERR {
        wrapping.undo();
        return installed;
    }
    take_wrappers_flags(signal, &wrapping.action);
    let installed = KernelAction { handler: installed as u64, ..wanted };
    wrapping.before(&installed).handler as Handler
}

/// The C library's function has installed a wrapper with flags of its own: adds those that a wrapper has.
fn take_wrappers_flags(signal: c_int, wrapper: &KernelAction) {
    // SAFETY: all zeros are an action.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: a place for the action.
    let known = unsafe { real::sigaction(signal, std::ptr::null(), &raw mut action) } == 0;
    if known && action.sa_sigaction as u64 == wrapper.handler {
        action.sa_flags |= wrapper.flags as c_int;
        // SAFETY: the action that stands, which may have a siginfo_t as any may.
        unsafe { real::sigaction(signal, &raw const action, std::ptr::null_mut()) };
    }
}

/// Sets the handler of one of the tracer's signals: the one before, or `None` where the signal is another.
fn replace(signal: c_int, handler: Handler, flags: c_int, mask: u64) -> Option<Handler> {
    let signals = &armed::process()?.signals;
    let before = signals.action(signal)?;
    let action = KernelAction { handler: handler as u64, flags: flags as u64, restorer: 0, mask };
    signals.set_by_library(signal, action);
    Some(before.handler as Handler)
}

fn kernel_action(action: &libc::sigaction) -> KernelAction {
    KernelAction {
        handler: action.sa_sigaction as u64,
        flags: action.sa_flags as u32 as u64,
        restorer: action.sa_restorer.map_or(0, |restorer| restorer as usize as u64),
        // SAFETY: sigset_t is 128 bytes; the kernel's set is its first eight.
        mask: unsafe { (&raw const action.sa_mask).cast::<u64>().read() },
    }
}

fn write_action(to: &mut libc::sigaction, action: &KernelAction) {
    to.sa_sigaction = action.handler as usize;
    to.sa_flags = action.flags as c_int;
    // SAFETY: zero is an empty set.
    to.sa_mask = unsafe { std::mem::zeroed() };
    // SAFETY: an address of code, or 0, which is None.
    to.sa_restorer =
        unsafe { std::mem::transmute::<usize, Option<extern "C" fn()>>(action.restorer as usize) };
    // SAFETY: sigset_t is 128 bytes; the kernel's set is its first eight.
    unsafe { (&raw mut to.sa_mask).cast::<u64>().write(action.mask) };
}
