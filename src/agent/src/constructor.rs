//! Runs before the program's own constructors: takes the session out of the environment and arms.

use crate::armed;
use crate::environment;
use crate::invitation::Invitation;

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
    let Some(session) = Invitation::accept(found.session, found.agent) else { return };
    if session.is_over() {
        return;
    }
    armed::arm(session);
    // SAFETY: registers a function of ours for the rest of the process's life.
    unsafe { libc::pthread_atfork(None, None, Some(armed::in_child)) };
}
