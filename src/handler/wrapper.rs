//! What stands in the kernel's table for each of the program's signal handlers while the process is armed.
//!
//! A wrapper is a few instructions that change no register: it jumps to the program's handler, or, while some thread
//! of the process is traced or the handler wants the alternate stack, raises a trap of its own first. Our handler
//! then finds the registers that the kernel has set up for the program's, takes note, and goes on there.

#![allow(unsafe_code, reason = "naked code, which reads two statics")]

use std::arch::naked_asm;
use std::sync::atomic::{AtomicU32, Ordering};

use super::sigaction::{AtomicAction, KernelAction};
use crate::address::RuntimeAddr;

/// Signals are numbered from 1 to 64.
const SIGNALS: usize = 65;
/// Bytes from one wrapper to the next.
const SIZE: u64 = 32;
/// In a wrapper, where the trap instruction is: entered there, it always traps.
const TRAP: u64 = 15;

const SIGINFO: u64 = libc::SA_SIGINFO as u64;

/// What the program set for each signal.
static WRAPPED: [AtomicAction; SIGNALS] = [const { AtomicAction::new() }; SIGNALS];

/// Calls being traced, over all threads. ATOMICS: relaxed; each thread counts its own before it needs the trap.
pub(super) static TRACED_CALLS: AtomicU32 = AtomicU32::new(0);

/// Wrapper `n` lies at `32 * n`.
#[unsafe(naked)]
extern "C" fn wrappers() {
    naked_asm!(
        ".set .Loverstep_wrapper, 0",
        ".rept {signals}",
        "cmp dword ptr [rip + {traced}], 0",
        "jne 8f",
        // The action's first field is the handler.
        "jmp qword ptr [rip + {wrapped} + {action} * .Loverstep_wrapper]",
        "8: int3",
        ".set .Loverstep_wrapper, .Loverstep_wrapper + 1",
        ".balign {size}",
        ".endr",
        traced = sym TRACED_CALLS,
        wrapped = sym WRAPPED,
        signals = const SIGNALS,
        size = const SIZE,
        action = const size_of::<AtomicAction>(),
    )
}

fn base() -> u64 {
    wrappers as *const () as u64
}

/// A call begins to be traced: from now on wrappers trap.
pub(super) fn call_begins() {
    TRACED_CALLS.fetch_add(1, Ordering::Relaxed);
}

pub(super) fn call_ends() {
    TRACED_CALLS.fetch_sub(1, Ordering::Relaxed);
}

/// Whether `rip` is in a wrapper, on its way to the trap or to the program's handler.
pub(super) fn contains(rip: RuntimeAddr) -> bool {
    rip.0.wrapping_sub(base()) < SIZE * SIGNALS as u64
}

/// The signal whose wrapper has trapped, `rip` being the address behind the trap instruction.
pub(super) fn trapped_at(rip: RuntimeAddr) -> Option<i32> {
    let offset = rip.0.checked_sub(base())?;
    let number = offset / SIZE;
    (offset % SIZE == TRAP + 1 && number < SIGNALS as u64).then_some(number as i32)
}

/// What the program wants for `signal`.
pub(super) fn program_action(signal: i32) -> KernelAction {
    WRAPPED.get(signal as usize).map_or(KernelAction::default(), AtomicAction::get)
}

/// A change of an action that is under way; [`Self::undo`] when the kernel refuses it.
pub struct Wrapping {
    /// What is to be installed.
    pub action: KernelAction,
    signal: i32,
    before: KernelAction,
}

/// Remembers what the program wants for `signal`, and says what to install: a handler becomes its wrapper, which
/// does not block the tracer's signals (`owned`).
///
/// # Signal safety
/// Atomics.
#[must_use]
pub fn wrap(signal: i32, wanted: &KernelAction, owned: u64) -> Wrapping {
    const DEFAULT: u64 = libc::SIG_DFL as u64;
    const IGNORE: u64 = libc::SIG_IGN as u64;
    let before = program_action(signal);
    let mut action = *wanted;
    if let Some(place) = WRAPPED.get(signal as usize)
        && !matches!(wanted.handler, DEFAULT | IGNORE)
    {
        place.set(wanted);
        let on_alternate_stack = wanted.flags & libc::SA_ONSTACK as u64 != 0;
        action.handler = base() + SIZE * signal as u64 + if on_alternate_stack { TRAP } else { 0 };
        action.mask &= !owned;
        // Without it the kernel leaves the frame's siginfo_t unwritten (Linux `x64_setup_rt_frame`), which tells a fault.
        action.flags |= SIGINFO;
    }
    Wrapping { action, signal, before }
}

impl Wrapping {
    /// The kernel did not take it.
    pub fn undo(&self) {
        if let Some(place) = WRAPPED.get(self.signal as usize) {
            place.set(&self.before);
        }
    }

    /// What the program is to read back, where the kernel says `installed` stood before.
    #[must_use]
    pub fn before(&self, installed: &KernelAction) -> KernelAction {
        unwrapped(installed, &self.before)
    }
}

/// What the program is to read back for `signal`, where the kernel says `installed` stands.
#[must_use]
pub fn as_program_sees(signal: i32, installed: &KernelAction) -> KernelAction {
    unwrapped(installed, &program_action(signal))
}

fn unwrapped(installed: &KernelAction, wanted: &KernelAction) -> KernelAction {
    if contains(RuntimeAddr(installed.handler)) {
        let flags = installed.flags & !SIGINFO | wanted.flags & SIGINFO;
        KernelAction { handler: wanted.handler, mask: wanted.mask, flags, ..*installed }
    } else {
        *installed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrapped_handler_reads_back_as_it_was_set() {
        let wanted = KernelAction { handler: 0x1234, flags: 0x1000_0000, restorer: 7, mask: 0b1_0010 };
        let wrapping = wrap(libc::SIGUSR2, &wanted, 0b1_0000);
        assert_ne!(wrapping.action.handler, wanted.handler);
        assert_ne!(wrapping.action.flags & SIGINFO, 0, "so that the frame tells a fault");
        assert_eq!(wrapping.action.mask, 0b10, "the tracer's own signal stays unblocked");
        assert_eq!(as_program_sees(libc::SIGUSR2, &wrapping.action), wanted);
        let again = wrap(libc::SIGUSR2, &KernelAction { handler: 0x5678, ..wanted }, 0);
        assert_eq!(again.before(&wrapping.action), wanted);
        again.undo();
        assert_eq!(program_action(libc::SIGUSR2).handler, 0x1234);
    }

    #[test]
    fn default_and_ignore_are_the_kernels_affair() {
        for handler in [libc::SIG_DFL, libc::SIG_IGN] {
            let wanted = KernelAction { handler: handler as u64, flags: 0, restorer: 0, mask: 0 };
            assert_eq!(wrap(libc::SIGUSR1, &wanted, 0).action, wanted);
        }
    }

    #[test]
    fn only_the_byte_behind_the_trap_is_a_wrappers_trap() {
        assert_eq!(trapped_at(RuntimeAddr(base() + SIZE * 10 + TRAP + 1)), Some(10));
        assert_eq!(trapped_at(RuntimeAddr(base() + SIZE * 10 + TRAP)), None);
        assert_eq!(trapped_at(RuntimeAddr(base() + SIZE * SIGNALS as u64 + TRAP + 1)), None);
    }
}
