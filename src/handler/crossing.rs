//! Functions by which native code leaves its frames: the agent stands in front of longjmp and its kin and of
//! `_Unwind_SetIP`, and passes here on its way to the real ones. While a call is traced, that raises a trap.

#![allow(unsafe_code, reason = "naked code, which reads a static")]

use std::arch::naked_asm;

use super::process::Process;
use super::saved::Saved;
use super::slide::Slide;
use super::stepper::Stepper;
use super::thread::Phase;
use super::wrapper::TRACED_CALLS;
use crate::address::RuntimeAddr;
use crate::raw;
use crate::record::marker::Marker;
use crate::record::verdict::Verdict;
use crate::registers::{R11, RSI};

/// Where the trap instruction is.
const TRAP: u64 = 12;

/// What native code is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Crossing {
    /// longjmp(3) and its kin: control goes elsewhere.
    Jump,
    /// `_Unwind_SetIP(context, address)`: the unwinder will land at the address.
    Landing,
}

/// Goes on at r11.
///
/// # Safety
/// As [`jump`].
#[unsafe(naked)]
pub unsafe extern "C" fn straight() {
    naked_asm!("jmp r11")
}

/// Makes a passage, told from others by its address.
macro_rules! passage {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            naked_asm!(
                "cmp dword ptr [rip + {traced}], 0",
                "jne 8f",
                "jmp r11",
                "8: int3",
                "jmp r11",
                traced = sym TRACED_CALLS,
            )
        }
    };
}

passage! {
    /// Goes on at r11, where a function of kind [`Crossing::Jump`] is, after a trap where one is wanted.
    ///
    /// # Safety
    /// Jumped to with all registers but r11 and the flags as a caller of that function has left them.
    jump
}

passage! {
    /// The same for [`Crossing::Landing`].
    ///
    /// # Safety
    /// As [`jump`].
    landing
}

/// What has trapped, `rip` being the address behind the trap instruction.
pub(super) fn trapped_at(rip: RuntimeAddr) -> Option<Crossing> {
    let behind = |function: unsafe extern "C" fn()| function as *const () as u64 + TRAP + 1;
    match rip.0 {
        at if at == behind(jump) => Some(Crossing::Jump),
        at if at == behind(landing) => Some(Crossing::Landing),
        _ => None,
    }
}

/// Takes note, and sends control to the real function.
///
/// # Signal safety
/// As `Stepper::arrive`.
pub(super) fn cross(process: &'static Process, crossing: Crossing, mut saved: Saved<'_>) {
    let registers = saved.registers(false);
    let real = RuntimeAddr(registers.general[R11]);
    saved.go_to(real);
    let tid = raw::gettid();
    let Some(thread) = process.threads.find(tid).filter(|thread| thread.phase == Phase::Native) else {
        return;
    };
    let mut stepper = Stepper { process, thread, saved, tid };
    stepper.know_stack();
    match crossing {
        Crossing::Jump => stepper.follow_jump(real),
        Crossing::Landing => stepper.await_landing(real, RuntimeAddr(registers.general[RSI])),
    }
}

impl Stepper<'_> {
    /// Steps through a jumping function that native code has called.
    fn follow_jump(&mut self, real: RuntimeAddr) {
        let Some(top) = self.thread.frames.top() else { return };
        if self.thread.sliding.is_none() && self.process.image().in_scope(real) {
            // Stepped code has called the agent's stand-in.
            return self.continue_here(Verdict::Exact);
        }
        if self.thread.sliding.is_none() {
            self.mark(&Marker::Native { target: real, resume: RuntimeAddr(0) });
            if self.thread.phase == Phase::Muted {
                return;
            }
            self.thread.sliding = Some(Slide::out_of_native(top.slot, self.saved.rsp()));
        }
        self.arrive(Verdict::Exact);
    }

    /// Awaits the unwinder's landing beside the native stretch's return, if it is in scope: not every landing is one above
    /// the stretch.
    fn await_landing(&mut self, setter: RuntimeAddr, pad: RuntimeAddr) {
        let stepped = self.process.image().in_scope(setter);
        if stepped || self.thread.sliding.is_some() || !self.process.image().in_scope(pad) {
            return;
        }
        // One breakpoint to an address: the call's own return may lead to its landing pad.
        if pad != self.thread.expected && self.thread.exit.place(pad, self.process.fasync_signal).is_err() {
            // No debug register is left for both.
            self.await_stop(pad, true);
        }
        self.mark(&Marker::Native { target: setter, resume: pad });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trap_is_where_it_is_looked_for() {
        for (function, crossing) in
            [(jump as unsafe extern "C" fn(), Crossing::Jump), (landing, Crossing::Landing)]
        {
            let at = function as *const () as u64 + TRAP;
            // SAFETY: a byte of our own code.
            assert_eq!(unsafe { (at as *const u8).read() }, 0xcc, "int3");
            assert_eq!(trapped_at(RuntimeAddr(at + 1)), Some(crossing));
            assert_eq!(trapped_at(RuntimeAddr(at)), None);
        }
    }
}
