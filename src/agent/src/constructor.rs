//! Runs before the program's own constructors: takes the session out of the environment and arms.

use crate::armed;
use crate::environment;
use crate::invitation::Invitation;
use overstep::raw;

/// As large as a main thread's usually is, in bytes; touched as far as it is used.
const OWN_STACK: u64 = 8 << 20;

#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: unsafe extern "C" fn() = constructor;

/// The constructors that come next find in the registers what the loader had there. No caller may count on them, but a
/// listing of such a constructor shows them, and it is to be the same whatever was done here.
#[unsafe(naked)]
unsafe extern "C" fn constructor() {
    std::arch::naked_asm!(
        "push rax",
        "push rcx",
        "push rdx",
        "push rsi",
        "push rdi",
        "push r8",
        "push r9",
        "push r10",
        "push r11",
        "call {construct}",
        "pop r11",
        "pop r10",
        "pop r9",
        "pop r8",
        "pop rdi",
        "pop rsi",
        "pop rdx",
        "pop rcx",
        "pop rax",
        "ret",
        construct = sym construct,
    )
}

extern "C" fn construct() {
    // SAFETY: the loader runs constructors before the program has a second thread.
    let Some(found) = (unsafe { environment::take_session() }) else { return };
    let mut found = Some(found);
    on_own_stack(&mut || {
        if let Some(session) = found.take().and_then(|found| Invitation::accept(found.session, found.agent))
            && !session.is_over()
        {
            armed::arm(session);
            // SAFETY: registers a function of ours for the rest of the process's life.
            unsafe { libc::pthread_atfork(None, None, Some(armed::in_child)) };
        }
    });
}

/// Runs `work` on a stack that is gone afterwards, so that the program's has nothing of it below RSP: code that stores and
/// loads what nobody wrote (`xsavec` in the loader) shows in a listing, too. Without room for one, on the program's.
fn on_own_stack(work: &mut dyn FnMut()) {
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as u64;
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK) as u64;
    // SAFETY: a fresh anonymous mapping; no existing memory is touched.
    let stack = unsafe { raw::syscall(libc::SYS_mmap, [0, OWN_STACK, protection, flags, u64::MAX, 0]) };
    let Ok(stack) = stack else { return work() };
    let mut work = work;
    // SAFETY:
    // - the stack is writable memory of its own, and its top is a multiple of 16, as a call needs it;
    // - RSP is back in its place behind the call, kept in a register that the callee preserves;
    // - `work` outlives the call, and `run` gets it as what it is.
    unsafe {
        std::arch::asm!(
            "mov r12, rsp",
            "mov rsp, {top}",
            "call {run}",
            "mov rsp, r12",
            top = in(reg) stack + OWN_STACK,
            run = sym run,
            in("rdi") &raw mut work,
            out("r12") _,
            clobber_abi("C"),
        );
    }
    // SAFETY: nothing runs on it any more.
    let _ = unsafe { raw::syscall(libc::SYS_munmap, [stack, OWN_STACK, 0, 0, 0, 0]) };
}

/// # Safety
/// `work` is valid for the call.
unsafe extern "C" fn run(work: *mut &mut dyn FnMut()) {
    // SAFETY: the caller's promise.
    unsafe { (*work)() };
}
