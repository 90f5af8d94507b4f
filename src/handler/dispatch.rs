//! System calls in code that runs natively during a traced call. Syscall user dispatch (Linux 5.11,
//! `Documentation/admin-guide/syscall-user-dispatch.rst`) has each of them raise SIGSYS instead: those that concern
//! signals are answered as in stepped code, the others are made from a [site](super::site)'s stub.

#![allow(unsafe_code, reason = "the kernel reads the selector by its address")]

use super::known::CodeRange;
use super::process::Process;
use super::saved::Saved;
use super::site;
use super::stepper::Stepper;
use super::thread::Thread;
use crate::address::RuntimeAddr;
use crate::event::siginfo::EventSignal;
use crate::raw;
use crate::registers::{RAX, RCX};

/// `si_code` of a system call that was dispatched (`include/uapi/asm-generic/siginfo.h`).
const SYS_USER_DISPATCH: i32 = 2;
/// `si_arch` of a `syscall` instruction in 64-bit code (`include/uapi/linux/audit.h`, `AUDIT_ARCH_X86_64`).
const X86_64: u64 = 0xc000_003e;
/// `int 0x80` is as long as `syscall`.
const INSTRUCTION: u64 = 2;

/// prctl(2)'s option and its modes (`include/uapi/linux/prctl.h`); libc has no names for them on this target.
pub const PR_SET_SYSCALL_USER_DISPATCH: u64 = 59;
const OFF: u64 = 0;
const ON: u64 = 1;

/// Values of the selector.
const ALLOW: u8 = 0;
const BLOCK: u8 = 1;

/// What is to become of a thread's system calls.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Watch {
    /// They raise SIGSYS.
    Calls,
    /// They are stepped, or nobody's business for a while.
    Paused,
    Off,
}

/// What one thread has asked of the kernel.
pub(super) struct Dispatch {
    selector: u8,
    on: bool,
    /// The kernel does not have it, or a filter forbids it.
    refused: bool,
    /// The system call under way is to be made where it stands.
    passing: bool,
}

impl Dispatch {
    pub(super) const fn off() -> Self {
        Self { selector: ALLOW, on: false, refused: false, passing: false }
    }

    /// Whether a system call raises SIGSYS on our behalf.
    pub(super) const fn is_watching(&self) -> bool {
        self.on && self.selector == BLOCK
    }

    /// As the thread is to be when the handler returns.
    ///
    /// # Signal safety
    /// prctl when a call goes native for the first time, and at its end.
    pub(super) fn settle(&mut self, watch: Watch, own_text: CodeRange) {
        match watch {
            Watch::Calls => self.turn_on(own_text),
            Watch::Paused => {}
            Watch::Off => self.turn_off(),
        }
        let passing = std::mem::take(&mut self.passing);
        self.select(if watch == Watch::Calls && !passing { BLOCK } else { ALLOW });
    }

    /// Turns it off for good: SIGSYS is about to be as the program believes.
    pub(super) fn give_way(&mut self) {
        self.turn_off();
        self.refused = true;
    }

    /// The system call at RIP is made where it stands.
    pub(super) fn pass(&mut self) {
        self.passing = true;
    }

    /// Lets system calls through until the handler has run once more.
    pub(super) fn allow(&mut self) {
        self.select(ALLOW);
    }

    fn turn_on(&mut self, own_text: CodeRange) {
        if self.on || self.refused {
            return;
        }
        let length = own_text.end.since(own_text.start);
        let selector = &raw const self.selector as u64;
        self.on = control([ON, own_text.start.0, length, selector]);
        self.refused = !self.on;
    }

    pub(super) fn turn_off(&mut self) {
        if std::mem::take(&mut self.on) {
            control([OFF, 0, 0, 0]);
        }
    }

    fn select(&mut self, value: u8) {
        // SAFETY: a byte of our own; volatile because the kernel reads it.
        unsafe { (&raw mut self.selector).write_volatile(value) };
    }
}

/// prctl(PR_SET_SYSCALL_USER_DISPATCH, …): whether the kernel has done it.
fn control(arguments: [u64; 4]) -> bool {
    let [mode, start, length, selector] = arguments;
    let all = [PR_SET_SYSCALL_USER_DISPATCH, mode, start, length, selector, 0];
    // SAFETY: the selector, where one is given, lies in a thread's block, which is never unmapped.
    unsafe { raw::syscall(libc::SYS_prctl, all) }.is_ok()
}

/// How a system call that is not answered is carried out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Carrying {
    /// In the site's stub, which goes back by itself.
    Through,
    /// The same, and a trap tells that it is back.
    AndBack,
}

/// Deals with SIGSYS; `false` where it is not of our asking.
///
/// # Signal safety
/// As `Stepper::answer`.
pub(super) fn take(process: &'static Process, info: &EventSignal, saved: Saved<'_>) -> bool {
    let tid = raw::gettid();
    let watching = |thread: &&mut Thread| thread.dispatch.is_watching();
    if info.code != SYS_USER_DISPATCH {
        return false;
    }
    let Some(thread) = process.threads.find(tid).filter(watching) else { return false };
    let mut stepper = Stepper { process, thread, saved, tid };
    if info.data >> 32 == X86_64 {
        stepper.carry_out();
    } else {
        stepper.pass_in_place();
    }
    true
}

impl Stepper<'_> {
    /// The registers are those of a system call in native code, RIP behind it.
    fn carry_out(&mut self) {
        let registers = self.saved.registers(false);
        if let Some(result) = self.answer(&registers) {
            return self.saved.finish_syscall(result, registers.rip, false);
        }
        let carrying = self.prepare(&registers);
        let stub = match carrying {
            Carrying::Through => site::through(registers.rip),
            Carrying::AndBack => site::and_back(registers.rip),
        };
        match stub {
            Some(stub) => self.saved.go_to(stub),
            None => self.pass_in_place(),
        }
    }

    /// The door stays open until the next stop.
    fn pass_in_place(&mut self) {
        let behind = self.saved.rip();
        self.thread.dispatch.pass();
        self.saved.go_to(RuntimeAddr(behind.0.wrapping_sub(INSTRUCTION)));
    }
}

/// A stub has trapped behind its system call, the site of which is behind `rip`: back there, in a forked child, too.
///
/// # Signal safety
/// As `Stepper::mark`.
pub(super) fn come_back(process: &'static Process, mut saved: Saved<'_>) {
    let Some(behind) = site::trapped_at(saved.rip()) else { return };
    saved.go_to(behind);
    saved.set_general(RCX, behind.0);
    let tid = raw::gettid();
    let Some(thread) = process.threads.find(tid) else { return };
    let mut stepper = Stepper { process, thread, saved, tid };
    let result = stepper.saved.registers(false).general[RAX];
    stepper.unshield();
    stepper.note_child(result);
}
