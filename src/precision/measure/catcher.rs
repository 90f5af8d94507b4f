//! The measuring child's signal handler: records, and re-arms a counter by a tail of fixed length.

#![allow(unsafe_code, reason = "a signal handler whose last instructions are counted")]

use std::arch::naked_asm;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI64, AtomicPtr, AtomicU64, Ordering::Relaxed};

use iced_x86::FlowControl;

use super::ledger::Ledger;
use crate::address::RuntimeAddr;
use crate::event::ioctl;
use crate::event::probe::action;
use crate::event::probe::catcher::REALTIME;
use crate::event::siginfo::EventSignal;
use crate::image::class::Class;
use crate::image::decode::{Vendor, decode};
use crate::raw::{Errno, gettid};

/// Signals that measured events send.
pub(super) const SIGNALS: [i32; 3] = [libc::SIGTRAP, libc::SIGIO, REALTIME];

/// Bytes to find the handler's three system calls in.
const CODE: usize = 192;

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

/// Instructions of the handler's that a counter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::precision) struct Handler {
    /// From its first to the call that stops the counter.
    pub head: u64,
    /// Behind the call that arms it again, which starts the counter inside the kernel, to the return.
    pub tail: u64,
    /// Branches among both.
    pub branches: u64,
}

impl Handler {
    /// By its code, on the way that it takes with a counter.
    pub(in crate::precision) fn of_code() -> Self {
        // SAFETY: the handler has more than as many bytes, or whatever code the linker put behind it does.
        let code = unsafe { std::slice::from_raw_parts(entry as *const u8, CODE) };
        Self::within(code, RuntimeAddr(entry as *const () as u64))
    }

    fn within(code: &[u8], start: RuntimeAddr) -> Self {
        let (vendor, mut at) = (Vendor::of_this_cpu(), start);
        // Instructions up to and with each `syscall`: those that stop, arm, return; and the branches among them.
        let (mut stretches, mut branches) = ([0, 0, 0], [0, 0, 0]);
        for (stretch, branches) in stretches.iter_mut().zip(&mut branches) {
            while let Ok(instruction) =
                decode(code.get(at.since(start) as usize..).unwrap_or_default(), at, vendor)
            {
                *stretch += 1;
                at = RuntimeAddr(instruction.next_ip());
                if Class::of(&instruction) == Class::Syscall {
                    break;
                }
                *branches += u64::from(instruction.flow_control() != FlowControl::Next);
            }
        }
        let ([head, _, tail], [of_head, _, of_tail]) = (stretches, branches);
        Self { head, tail, branches: of_head + of_tail }
    }

    /// Both together: what one signal adds to a count of instructions.
    pub(in crate::precision) const fn instructions(self) -> u64 {
        self.head + self.tail
    }
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
    // Every counter has the `read_format` that tells its times, too.
    let reading = if counter < 0 { None } else { ledger.note(ioctl::reading(counter as i32)) };
    let count = reading.unwrap_or_default().count;
    let kept = ledger.record(signal, info, rip as u64, left as u64, count, gettid());
    if !kept {
        // More than any measurement asks for: an event that the handler itself sets off would never end.
        ledger.note(ioctl::disable(ledger.descriptor.load(Relaxed)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counted_instructions_are_those_of_the_code() {
        // Three moves, the load, test and branch, two moves, the call; behind the second call a move and the return.
        assert_eq!(Handler::of_code(), Handler { head: 9, tail: 2, branches: 1 });
    }
}
