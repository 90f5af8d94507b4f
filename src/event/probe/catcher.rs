//! The signal handler of a probe's child: keeps each signal, and moves the breakpoint on if asked.

#![allow(unsafe_code, reason = "installs a signal handler and reads its frame")]

use std::arch::naked_asm;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, Ordering::Relaxed};

use super::report::Report;
use super::sled;
use crate::event::siginfo::{EventSignal, TRAP_PERF};
use crate::event::{attr, ioctl, rearm};
use crate::raw::{Errno, gettid, syscall};
use crate::record::control::{Delivery, Rearm};

/// A real-time signal that neither glibc (32, 33) nor musl (32 to 34) keeps for itself.
pub(super) const REALTIME: i32 = 40;

const SA_RESTORER: u64 = 0x0400_0000;

/// What the kernel's `rt_sigaction` takes (`arch/x86/include/uapi/asm/signal.h`, `struct sigaction`).
#[repr(C)]
struct KernelSigaction {
    handler: u64,
    flags: u64,
    restorer: unsafe extern "C" fn(),
    mask: u64,
}

/// ATOMICS, all of them: set in the child before its first signal, read by its handler in the same process.
static REPORT: AtomicPtr<Report> = AtomicPtr::new(null_mut());
static EVENT: AtomicI32 = AtomicI32::new(-1);
static REARM: AtomicU32 = AtomicU32::new(0);

/// Catches SIGTRAP, SIGIO and [`REALTIME`] into `report`. Only in a probe's child.
pub(super) fn install(report: &Report) -> Result<(), Errno> {
    REPORT.store(std::ptr::from_ref(report).cast_mut(), Relaxed);
    install_handler(caught as *const () as u64, 0)
}

/// Has `handler`, the address of one with SA_SIGINFO, catch the same signals and `one_more`, if it is not 0.
pub(super) fn install_handler(handler: u64, one_more: i32) -> Result<(), Errno> {
    let signals = [libc::SIGTRAP, libc::SIGIO, REALTIME, one_more];
    let signals = signals.into_iter().filter(|signal| *signal != 0);
    let action = KernelSigaction {
        handler,
        flags: libc::SA_SIGINFO as u64 | SA_RESTORER,
        restorer: restore,
        mask: u64::MAX,
    };
    for signal in signals.clone() {
        // SAFETY:
        // - `action` has the kernel's layout and lives; the handler keeps to what a handler may do.
        unsafe { syscall(libc::SYS_rt_sigaction, [signal as u64, (&raw const action) as u64, 0, 8, 0, 0]) }?;
    }
    let blocked = signals.fold(u64::MAX, |mask, signal| mask & !(1 << (signal - 1)));
    // SAFETY: `blocked` lives and has the 8 bytes stated.
    unsafe {
        let arguments = [libc::SIG_SETMASK as u64, (&raw const blocked) as u64, 0, 8, 0, 0];
        syscall(libc::SYS_rt_sigprocmask, arguments)
    }?;
    Ok(())
}

/// From now on each hit moves `event` to the sled's next instruction, and the last one stops it.
/// `None` re-arms nothing: a sigtrap event goes on by itself.
pub(super) fn follow(event: i32, rearm: Option<Rearm>) {
    REARM.store(rearm.map_or(0, |rearm| rearm as u32), Relaxed);
    EVENT.store(event, Relaxed);
}

/// # Signal safety
/// Atomics and raw system calls. The report is mapped for as long as the child lives.
extern "C" fn caught(signal: i32, info: &EventSignal, context: &libc::ucontext_t) {
    let report = REPORT.load(Relaxed);
    // SAFETY: `install` stored a reference to the shared page, which stays mapped until the child ends.
    let Some(report) = (unsafe { report.as_ref() }) else { return };
    let [.., rip, _flags, _segments, _error, _trap, _mask, _cr2] = context.uc_mcontext.gregs;
    let data = if info.code == TRAP_PERF { info.data } else { 0 };
    report.record(signal, info.code, rip as u64, data, gettid());
    let event = EVENT.load(Relaxed);
    if event >= 0 {
        report.note(move_on(event, report.hits.load(Relaxed)));
    }
}

/// Moves `event` to the sled's instruction number `next`, or stops it behind the last.
fn move_on(event: i32, next: u32) -> Result<(), Errno> {
    if next >= sled::LENGTH {
        return ioctl::disable(event);
    }
    let again = rearm::ALL.into_iter().find(|way| *way as u32 == REARM.load(Relaxed));
    let delivery = if again.is_some() { Delivery::Fasync } else { Delivery::Sigtrap };
    ioctl::modify(event, &attr::step(sled::at(next), delivery, super::breakpoint::TAG))?;
    again.map_or(Ok(()), |way| rearm::again(event, way))
}

/// # Signal safety
/// One system call.
#[unsafe(naked)]
unsafe extern "C" fn restore() {
    naked_asm!("mov eax, {sigreturn}", "syscall", sigreturn = const libc::SYS_rt_sigreturn)
}
