//! A SIGTRAP that somebody sent may have come in place of one of the tracer's: the kernel keeps one pending, and of two that
//! come at once drops the second. What the address and the flags say of the one that was dropped.

#![allow(unsafe_code, reason = "the kernel passes a signal's facts by pointer")]

use super::code::peek;
use super::entry::Sender;
use super::held;
use super::process::Process;
use super::saved::Saved;
use super::stepper::rsp_after;
use crate::address::RuntimeAddr;
use crate::event::siginfo::EventSignal;
use crate::record::control::{Delivery, Engine};
use crate::registers::flag;

/// A signal has come in place of a trap in the tracer's own code: it is sent once more, for the program.
pub(super) fn send_again(tid: u32, info: &held::Info) {
    // SAFETY: every siginfo_t begins like this.
    let code = unsafe { (*info.as_ptr().cast::<EventSignal>()).code };
    if code <= 0 {
        held::send_to_itself(tid, libc::SIGTRAP, info);
    }
}

/// Whether a signal has come behind the patch at `address` in place of the patch's own: then the patch is to trap again.
/// Behind an instruction of one byte the thread may also be because it has run it, RSP being `rsp` by now.
pub(super) fn trap_dropped(process: &Process, tid: u32, address: RuntimeAddr, rsp: u64) -> bool {
    if !process.patches.stands_at(address) {
        return false;
    }
    let Ok(patched) = peek(process, address) else { return true };
    if patched.fall_through() != address.plus(1) {
        return true;
    }
    let ran = |(at, before)| at == address && rsp_after(&patched, before) == rsp;
    match process.threads.find(tid) {
        Some(thread) => !thread.passed.is_some_and(ran),
        // It has a block since it first came to a function's entry; elsewhere it leaves no note.
        None => process.function_at(address).is_some(),
    }
}

/// The stop that a signal of the program's stands for as well. `stopped`: it came behind a copy whose breakpoint
/// instruction was to stop the thread.
pub(super) fn hidden_stop(
    process: &Process,
    tid: u32,
    signal: i32,
    stopped: bool,
    saved: &Saved<'_>,
) -> Option<Sender> {
    let rip = saved.rip();
    let thread = process.threads.find(tid)?;
    if signal != libc::SIGTRAP || !thread.phase.is_traced() || thread.expected != rip {
        return None;
    }
    // An execute breakpoint that has been hit leaves RF set (kernel-facts 17).
    let hit = thread.step.at() == Some(rip)
        && process.step_delivery() == Delivery::Sigtrap
        && saved.has_flag(flag::RF);
    match hit {
        _ if stopped => Some(Sender::Standing),
        _ if thread.trap_flag => Some(Sender::TrapFlag),
        true => Some(Sender::Step),
        false => None,
    }
}

/// A signal may have come at a standing breakpoint in place of the breakpoint's own: RF says that it has hit (kernel-facts
/// 17). Unless the thread was sent on from there already, it is to hit once more behind the program's handler.
pub(super) fn note_dropped_hit(process: &Process, tid: u32, signal: i32, mut saved: Saved<'_>) {
    let rip = saved.rip();
    if signal != libc::SIGTRAP || !saved.has_flag(flag::RF) || process.patches.stands_at(rip) {
        return;
    }
    let is_entry = process.function_at(rip).is_some();
    let dropped = match process.threads.find(tid) {
        // Stepping resumes there behind the handler as it is; a nested call whose row is due is counted then.
        Some(thread) if thread.phase.is_traced() && thread.expected == rip => {
            is_entry && thread.pending.rows().is_empty() && process.settings.engine != Engine::TrapFlag
        }
        Some(thread) => {
            let stands = is_entry || [thread.guard.at(), thread.exit.at()].contains(&Some(rip));
            stands && thread.passed != Some((rip, saved.rsp()))
        }
        None => is_entry,
    };
    if dropped {
        saved.set_flag(flag::RF, false);
        if is_entry {
            process.progress.note_hit_again();
        }
    }
}
