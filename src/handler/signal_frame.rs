//! The frame that the kernel has built for one of the program's handlers, seen from the handler's first instruction
//! or from its restorer (Linux `struct rt_sigframe`, `arch/x86/include/asm/sigframe.h`).

#![allow(unsafe_code, reason = "the kernel's frame lies on a stack of the program's")]

use super::saved::Saved;
use super::thread::Thread;
use crate::address::RuntimeAddr;
use crate::image::memory::{Memory, OwnMemory, write};

/// Bytes below RSP that belong to the interrupted code (System V ABI, 3.2.2).
const RED_ZONE: u64 = 128;
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

/// Moves the frame of an SA_ONSTACK handler from the tracer's alternate stack, where the kernel has put it, to the
/// program's, where it belongs. Frame and registers stay as they are where the program has no such stack, or one
/// that is too small.
///
/// # Signal safety
/// process_vm_writev, which cannot fault.
pub(super) fn move_to_program_stack(saved: &mut Saved<'_>, thread: &Thread, memory: &OwnMemory) {
    let ours = thread.alternate_stack();
    let theirs = thread.program_stack;
    let (from, ours_start) = (saved.rsp(), ours.ss_sp as u64);
    let ours_end = ours_start + ours.ss_size as u64;
    let (theirs_start, theirs_end) = (theirs.ss_sp as u64, theirs.ss_sp as u64 + theirs.ss_size as u64);
    if theirs.ss_flags & libc::SS_DISABLE != 0 || !(ours_start..ours_end).contains(&from) {
        return;
    }
    // SAFETY: RSP is where the kernel has left it: the return address, and the context right above.
    let interrupted = Saved::new(unsafe { context(from + 8) }).rsp();
    let already_there = (theirs_start..=theirs_end).contains(&interrupted);
    let top = if already_there { interrupted.wrapping_sub(RED_ZONE) } else { theirs_end };
    let length = ours_end - from;
    let Some(to) = top.checked_sub(length) else { return };
    let to = to - to.wrapping_sub(from) % XSAVE_ALIGNMENT;
    // SAFETY: what lies from RSP to the end of the tracer's own stack.
    let frame = unsafe { std::slice::from_raw_parts(from as *const u8, length as usize) };
    if to < theirs_start || !write(memory, RuntimeAddr(to), frame) {
        return;
    }
    let shift = to.wrapping_sub(from);
    // SAFETY: the copy just made.
    let moved = unsafe { context(to + 8) };
    let state = moved.uc_mcontext.fpregs;
    if !state.is_null() {
        moved.uc_mcontext.fpregs = (state as u64).wrapping_add(shift) as *mut _;
    }
    saved.shift_handler_arguments(shift);
}
