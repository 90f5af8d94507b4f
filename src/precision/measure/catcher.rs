//! The measuring child's signal handler: records, and re-arms a counter by a tail of fixed length.

#![allow(unsafe_code, reason = "a signal handler whose last instructions are counted")]

use std::arch::naked_asm;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI64, AtomicPtr, AtomicU64, Ordering::Relaxed};

use super::ledger::Ledger;
use crate::event::ioctl;
use crate::event::probe::action;
use crate::event::probe::catcher::REALTIME;
use crate::event::siginfo::EventSignal;
use crate::raw::{Errno, gettid};

/// Signals that measured events send.
pub(super) const SIGNALS: [i32; 3] = [libc::SIGTRAP, libc::SIGIO, REALTIME];

/// ATOMICS, all of them: set in the child before its event is armed, read by its handler in the same process.
static LEDGER: AtomicPtr<Ledger> = AtomicPtr::new(null_mut());
/// The counter that the handler stops first and arms last; -1 where it is not to touch the event.
static COUNTER: AtomicI64 = AtomicI64::new(-1);
/// The ioctl that arms it again.
static REQUEST: AtomicU64 = AtomicU64::new(0);

/// What the handler does with the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Handling {
    /// The event goes on by itself.
    Leave,
    /// Reads the count of `event`, and arms it for one more overflow as the handler's last act.
    Step { event: i32, request: u64 },
}

/// Catches [`SIGNALS`] into `ledger`, and blocks all others.
///
/// # Errors
/// None that valid signal numbers can give.
pub(super) fn install(ledger: &Ledger) -> Result<(), Errno> {
    LEDGER.store(std::ptr::from_ref(ledger).cast_mut(), Relaxed);
    action::install(&SIGNALS, entry as *const ())
}

pub(super) fn handle(handling: Handling) {
    let (event, request) = match handling {
        Handling::Leave => (-1, 0),
        Handling::Step { event, request } => (i64::from(event), request),
    };
    REQUEST.store(request, Relaxed);
    COUNTER.store(event, Relaxed);
}

/// A counter that counts in user mode counts the handler, too. So it is stopped by the handler's first instructions
/// and started by its last, the same ones each time: what is counted of the handler is a constant.
///
/// # Signal safety
/// System calls, and [`caught`].
#[unsafe(naked)]
unsafe extern "C" fn entry() {
    naked_asm!(
        "mov r12, rdi",
        "mov r13, rsi",
        "mov r14, rdx",
        "mov rdi, qword ptr [rip + {counter}]",
        "test rdi, rdi",
        "js 2f",
        "mov esi, {disable}",
        "mov eax, {ioctl}",
        "syscall",
        "2:",
        "mov rdi, r12",
        "mov rsi, r13",
        "mov rdx, r14",
        "sub rsp, 8", // the frame's return address left the stack eight bytes off
        "call {caught}",
        "add rsp, 16", // and that return address, as `ret` would: sigreturn finds its frame by rsp
        "mov rdi, qword ptr [rip + {counter}]",
        "test rdi, rdi",
        "js 2f",
        "mov rsi, qword ptr [rip + {request}]",
        "mov edx, 1",
        "mov eax, {ioctl}",
        "syscall",
        "2:",
        "mov eax, {sigreturn}",
        "syscall",
        counter = sym COUNTER,
        request = sym REQUEST,
        caught = sym caught,
        disable = const ioctl::DISABLE,
        ioctl = const libc::SYS_ioctl,
        sigreturn = const libc::SYS_rt_sigreturn,
    )
}

/// # Signal safety
/// Atomics and raw system calls. The ledger is mapped for as long as the child lives.
extern "C" fn caught(signal: i32, info: &EventSignal, context: &libc::ucontext_t) {
    let ledger = LEDGER.load(Relaxed);
    // SAFETY: `install` stored a reference to the shared memory, which stays mapped until the child ends.
    let Some(ledger) = (unsafe { ledger.as_ref() }) else { return };
    // In the order of `sigcontext`: r8 to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip.
    let [_, _, _, _, _, _, _, left, _, _, _, _, _, _, _, _, rip, ..] = context.uc_mcontext.gregs;
    let counter = COUNTER.load(Relaxed);
    let count = if counter < 0 { 0 } else { ledger.note(ioctl::count(counter as i32)).unwrap_or(0) };
    ledger.record(signal, info, rip as u64, left as u64, count, gettid());
}
