//! The frame that the kernel has built for one of the program's handlers, seen from the handler's first instruction
//! or from its restorer (Linux `struct rt_sigframe`, `arch/x86/include/asm/sigframe.h`).

#![allow(unsafe_code, reason = "the kernel's frame lies on a stack of the program's")]

use super::program_signals::mask_bit;
use super::saved::Saved;
use super::sigaction::KernelAction;
use super::thread::Thread;
use super::wrapper;
use crate::address::RuntimeAddr;
use crate::image::memory::{Memory, OwnMemory, write};

/// Bytes below RSP that belong to the interrupted code (System V ABI, 3.2.2).
const RED_ZONE: u64 = 128;
/// The handler's return address, below the context.
pub(super) const RETURN_ADDRESS: u64 = 8;
/// XSAVE areas are aligned to this (SDM volume 1, section 13.4).
const XSAVE_ALIGNMENT: u64 = 64;

/// A `ucontext_t` of the program's.
///
/// # Safety
/// `at` is what the kernel passed to a handler, or what RSP is at that handler's restorer, and the frame is intact.
pub(super) unsafe fn context<'a>(at: u64) -> &'a mut libc::ucontext_t {
    // SAFETY: the caller's promise; the thread that uses the frame is the one that runs this.
    unsafe { &mut *(at as *mut libc::ucontext_t) }
}

/// The context at `at`, where a whole one can be read and written.
///
/// # Signal safety
/// process_vm_readv and process_vm_writev, which cannot fault.
pub(super) fn frame<'a>(at: u64, memory: &OwnMemory) -> Option<Saved<'a>> {
    // SAFETY: readable and writable, and the kernel is about to read it as a context.
    is_accessible(at, memory).then(|| Saved::new(unsafe { context(at) }))
}

/// Whether the whole of a `ucontext_t` can be read and written at `at`: a program may have unmapped it or moved RSP.
fn is_accessible(at: u64, memory: &OwnMemory) -> bool {
    let mut byte = [0];
    [at, at + size_of::<libc::ucontext_t>() as u64 - 1]
        .iter()
        .all(|place| memory.read(RuntimeAddr(*place), &mut byte) && write(memory, RuntimeAddr(*place), &byte))
}

/// A signal on its way to a handler of the program's.
pub(super) struct Delivered<'a> {
    pub(super) signal: i32,
    /// In the frame that brought it.
    pub(super) info: *mut libc::siginfo_t,
    /// What the program wants: a handler.
    pub(super) action: &'a KernelAction,
    /// The tracer's signals, which are never really blocked.
    pub(super) owned: u64,
}

impl Delivered<'_> {
    /// What is blocked while the handler runs, beside what was (Linux `signal_delivered`).
    pub(super) const fn blocks(&self) -> u64 {
        let deferred = self.action.flags & libc::SA_NODEFER as u64 == 0;
        self.action.mask | if deferred { mask_bit(self.signal) } else { 0 }
    }
}

/// Does for a handler of the program's what the kernel does at delivery (Linux `setup_rt_frame`): the frame that the
/// tracer was given becomes the program's, on the program's stack, and `interrupted` leads to the handler's first
/// instruction. `false`, and nothing changed, when the frame does not lie on the tracer's stack or there is no room.
///
/// # Signal safety
/// As [`move_to_program_stack`].
pub(super) fn set_up(
    delivered: &Delivered<'_>,
    interrupted: &mut libc::ucontext_t,
    thread: &Thread,
    memory: &OwnMemory,
) -> bool {
    let at = (&raw const *interrupted) as u64;
    let from = at - RETURN_ADDRESS;
    let on_alternate = delivered.action.flags & libc::SA_ONSTACK as u64 != 0;
    let Some(to) = move_frames(from, on_alternate, thread, memory) else { return false };
    let shift = to.wrapping_sub(from);
    if !write(memory, RuntimeAddr(to), &delivered.action.restorer.to_le_bytes()) {
        return false;
    }
    Saved::new(interrupted).enter_handler(delivered, to, shift);
    true
}

/// Moves the frame of a handler at its first instruction from the tracer's alternate stack, where the kernel has put it,
/// to where it belongs: an SA_ONSTACK handler's, or one that came at once with such a handler's. Frame and registers stay
/// as they are where the program's stack is too small.
///
/// # Signal safety
/// process_vm_writev, which cannot fault.
pub(super) fn move_to_program_stack(saved: &mut Saved<'_>, thread: &Thread, memory: &OwnMemory) {
    let from = saved.rsp();
    if let Some(to) = move_frames(from, true, thread, memory) {
        saved.shift_handler_arguments(to.wrapping_sub(from));
    }
}

/// Copies what lies on the tracer's stack from the frame at `from` on to the program's, and says where the copy begins.
/// That is one frame, whose handler is to run on the program's alternate stack or not; or, of signals that came at once,
/// several, each but the last interrupting the wrapper of the next, and that one belongs to an SA_ONSTACK handler, or the
/// kernel would not have put it there. They move together: with the program off this stack, the next signal of the
/// tracer's would be written over what is left.
fn move_frames(from: u64, on_alternate: bool, thread: &Thread, memory: &OwnMemory) -> Option<u64> {
    let ours = thread.alternate_stack();
    if !holds(&ours, from) {
        return None;
    }
    let mut outermost = from;
    // SAFETY: a frame of the kernel's begins there.
    while let Some(outer) = unsafe { interrupted_wrapper(outermost) }.filter(|outer| holds(&ours, *outer)) {
        outermost = outer;
    }
    // SAFETY: as above.
    let interrupted = Saved::new(unsafe { context(outermost + RETURN_ADDRESS) }).rsp();
    if holds(&ours, interrupted) {
        return None; // a handler that had to stay
    }
    let theirs = thread.program_stack;
    let on_alternate = on_alternate || outermost != from;
    let on_alternate = on_alternate && theirs.ss_flags & libc::SS_DISABLE == 0;
    let begins = on_alternate && !holds(&theirs, interrupted);
    let top = if begins { end(&theirs) } else { interrupted.wrapping_sub(RED_ZONE) };
    let length = end(&ours).saturating_sub(from);
    if on_alternate && top.saturating_sub(theirs.ss_sp as u64) <= length + XSAVE_ALIGNMENT {
        return None;
    }
    let to = top.checked_sub(length)?;
    let to = to - to.wrapping_sub(from) % XSAVE_ALIGNMENT;
    // SAFETY: what lies from the frame to the end of the tracer's own stack.
    let frames = unsafe { std::slice::from_raw_parts(from as *const u8, length as usize) };
    if !write(memory, RuntimeAddr(to), frames) {
        return None;
    }
    let shift = to.wrapping_sub(from);
    let mut frame = from;
    loop {
        // SAFETY: a frame of the kernel's, and its copy.
        let (outer, copy) = unsafe { (interrupted_wrapper(frame), context(frame + shift + RETURN_ADDRESS)) };
        let state = copy.uc_mcontext.fpregs;
        if !state.is_null() {
            copy.uc_mcontext.fpregs = (state as u64).wrapping_add(shift) as *mut _;
        }
        match outer {
            Some(outer) if frame != outermost => {
                Saved::new(copy).shift_handler_arguments(shift);
                frame = outer;
            }
            _ => return Some(to),
        }
    }
}

/// Where the frame of the handler begins whose wrapper the one at `frame` has interrupted, if it has.
///
/// # Safety
/// A frame of the kernel's begins at `frame`.
unsafe fn interrupted_wrapper(frame: u64) -> Option<u64> {
    // SAFETY: the caller's promise.
    let interrupted = Saved::new(unsafe { context(frame + RETURN_ADDRESS) });
    let outer = interrupted.rsp();
    (wrapper::contains(interrupted.rip()) && outer > frame).then_some(outer)
}

fn end(stack: &libc::stack_t) -> u64 {
    stack.ss_sp as u64 + stack.ss_size as u64
}

/// Whether `rsp` is on the stack; at its end it is, with nothing pushed yet.
fn holds(stack: &libc::stack_t, rsp: u64) -> bool {
    (stack.ss_sp as u64..=end(stack)).contains(&rsp)
}
