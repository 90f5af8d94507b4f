//! The frame that the kernel has built for one of the program's handlers, seen from the handler's first instruction
//! or from its restorer (Linux `struct rt_sigframe`, `arch/x86/include/asm/sigframe.h`).

#![allow(unsafe_code, reason = "the kernel's frame lies on a stack of the program's")]

use super::program_signals::mask_bit;
use super::saved::Saved;
use super::sigaction::KernelAction;
use super::thread::Thread;
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
    let mut saved = Saved::new(interrupted);
    let theirs = thread.program_stack;
    let on_alternate = delivered.action.flags & libc::SA_ONSTACK as u64 != 0
        && theirs.ss_flags & libc::SS_DISABLE == 0
        && !holds(&theirs, saved.rsp());
    let top = if on_alternate { end(&theirs) } else { saved.rsp().wrapping_sub(RED_ZONE) };
    let Some(to) = copy_frame(from, top, thread, memory) else { return false };
    let shift = to.wrapping_sub(from);
    if !write(memory, RuntimeAddr(to), &delivered.action.restorer.to_le_bytes()) {
        return false;
    }
    saved.enter_handler(delivered, to, shift);
    true
}

/// Moves the frame of an SA_ONSTACK handler from the tracer's alternate stack, where the kernel has put it, to the
/// program's, where it belongs. Frame and registers stay as they are where the program has no such stack, or one
/// that is too small.
///
/// # Signal safety
/// process_vm_writev, which cannot fault.
pub(super) fn move_to_program_stack(saved: &mut Saved<'_>, thread: &Thread, memory: &OwnMemory) {
    let from = saved.rsp();
    let theirs = thread.program_stack;
    if theirs.ss_flags & libc::SS_DISABLE != 0 || !holds(&thread.alternate_stack(), from) {
        return;
    }
    // SAFETY: RSP is where the kernel has left it: the return address, and the context right above.
    let interrupted = Saved::new(unsafe { context(from + RETURN_ADDRESS) }).rsp();
    let top = if holds(&theirs, interrupted) { interrupted.wrapping_sub(RED_ZONE) } else { end(&theirs) };
    let room = top.saturating_sub(theirs.ss_sp as u64);
    if room > frame_length(from, thread) + XSAVE_ALIGNMENT
        && let Some(to) = copy_frame(from, top, thread, memory)
    {
        saved.shift_handler_arguments(to.wrapping_sub(from));
    }
}

/// Copies the frame at `from`, on the tracer's stack, to below `top`: where its copy begins.
fn copy_frame(from: u64, top: u64, thread: &Thread, memory: &OwnMemory) -> Option<u64> {
    if !holds(&thread.alternate_stack(), from) {
        return None;
    }
    let length = frame_length(from, thread);
    let to = top.checked_sub(length)?;
    let to = to - to.wrapping_sub(from) % XSAVE_ALIGNMENT;
    // SAFETY: what lies from the frame to the end of the tracer's own stack.
    let frame = unsafe { std::slice::from_raw_parts(from as *const u8, length as usize) };
    if !write(memory, RuntimeAddr(to), frame) {
        return None;
    }
    // SAFETY: the copy just made.
    let moved = unsafe { context(to + RETURN_ADDRESS) };
    let state = moved.uc_mcontext.fpregs;
    if !state.is_null() {
        moved.uc_mcontext.fpregs = (state as u64).wrapping_add(to.wrapping_sub(from)) as *mut _;
    }
    Some(to)
}

/// Bytes from `from` to the end of the tracer's stack, whose top the kernel's frame fills.
fn frame_length(from: u64, thread: &Thread) -> u64 {
    end(&thread.alternate_stack()).saturating_sub(from)
}

fn end(stack: &libc::stack_t) -> u64 {
    stack.ss_sp as u64 + stack.ss_size as u64
}

/// Whether `rsp` is on the stack; at its end it is, with nothing pushed yet.
fn holds(stack: &libc::stack_t, rsp: u64) -> bool {
    (stack.ss_sp as u64..=end(stack)).contains(&rsp)
}
