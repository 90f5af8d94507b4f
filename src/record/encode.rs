//! Turns steps and markers into bytes. `docs/trace-format.md` has the layout, `reader::decode` the other half.
//!
//! # Signal safety
//! Everything here is arithmetic and [`Cursor`] stores.

use super::cursor::Cursor;
use super::marker::Marker;
use super::step::{Access, MAX_INSTRUCTION, MAX_OPERANDS, MemoryAccess, Step, Syscall};
use super::stream::{
    FLAGS_ESCAPE, MASK_ORDER, PACKED_FLAGS, PACKED_REST, StreamState, event, part, verdict_number,
};
use super::verdict::Verdict;
use crate::address::RuntimeAddr;
use crate::registers::Registers;

/// Everything the following events are relative to.
pub(super) fn keyframe(out: &mut Cursor<'_>, state: &StreamState) {
    out.byte(event::KEYFRAME);
    out.varint(state.call);
    out.varint(state.n);
    out.u64(state.address.0);
    out.varint(u64::from(state.depth));
    out.byte(u8::from(state.reconstructed));
    register_change(out, &StreamState::NEW.registers, &state.registers);
}

/// Registers that changed where no row accounts for it.
pub(super) fn sync(out: &mut Cursor<'_>, before: &Registers, now: &Registers) {
    out.byte(event::SYNC);
    register_change(out, before, now);
}

/// Control is elsewhere than the last row said.
pub(super) fn resume(out: &mut Cursor<'_>, from: RuntimeAddr, to: RuntimeAddr) {
    out.byte(event::RESUME);
    out.distance(from.0, to.0);
}

/// An outermost entry: a new call.
pub(super) fn enter(out: &mut Cursor<'_>, state: &StreamState, call: u64, function: u32, now: &Registers) {
    out.byte(event::ENTER);
    out.varint(call);
    out.varint(u64::from(function));
    out.distance(state.address.0, now.rip.0);
    register_change(out, &state.registers, now);
}

/// One row. `state.address` need not be the row's: a [`resume`] before it sees to that.
pub(super) fn step(out: &mut Cursor<'_>, state: &StreamState, step: &Step<'_>) {
    let tag = bit(step.registers.is_some(), part::REGISTERS)
        | bit(!step.memory.is_empty(), part::MEMORY)
        | bit(step.count.is_some(), part::COUNT)
        | bit(step.bytes.is_some(), part::BYTES)
        | bit(!same_verdict(step.verdict, state.reconstructed), part::VERDICT)
        | bit(step.depth != state.depth, part::DEPTH)
        | bit(step.syscall.is_some(), part::SYSCALL);
    let length = step.next.since(step.address);
    if tag == 0 && (1..=MAX_INSTRUCTION as u64).contains(&length) {
        return out.byte(event::PLAIN + length as u8);
    }
    out.byte(tag);
    out.distance(step.address.0, step.next.0);
    if let Some(registers) = step.registers {
        register_change(out, registers.before, registers.after);
    }
    if !step.memory.is_empty() {
        memory(out, state.memory, step.memory);
    }
    if let Some(count) = step.count {
        out.varint(count);
    }
    if let Some(bytes) = step.bytes {
        let length = bytes.len().min(MAX_INSTRUCTION);
        out.byte(length as u8);
        for &byte in bytes.iter().take(length) {
            out.byte(byte);
        }
    }
    if tag & part::VERDICT != 0 {
        verdict(out, step.verdict, step.address);
    }
    if tag & part::DEPTH != 0 {
        out.distance(u64::from(state.depth), u64::from(step.depth));
    }
    if let Some(call) = step.syscall {
        syscall(out, call);
    }
}

/// What is no row. `Enter` is written by [`enter`], which knows the call.
pub(super) fn marker(out: &mut Cursor<'_>, state: &StreamState, marker: &Marker) {
    match marker {
        Marker::Enter { function, registers } => enter(out, state, state.call, *function, registers),
        Marker::Leave { rax, xmm0 } => {
            out.byte(event::LEAVE);
            out.varint(*rax);
            out.bytes(xmm0);
        }
        Marker::Signal { number, handler } => {
            out.byte(event::SIGNAL);
            out.varint(u64::from(*number));
            out.distance(state.address.0, handler.0);
        }
        Marker::Sigreturn => out.byte(event::SIGRETURN),
        Marker::Fault { signal, address } => {
            out.byte(event::FAULT);
            out.varint(u64::from(*signal));
            out.u64(address.0);
        }
        Marker::Native { target, resume } => {
            out.byte(event::NATIVE);
            out.distance(state.address.0, target.0);
            out.distance(state.address.0, resume.0);
        }
        Marker::Rseq { start, end } => {
            out.byte(event::RSEQ);
            out.distance(state.address.0, start.0);
            out.distance(start.0, end.0);
        }
        Marker::Masked { stops } => {
            out.byte(event::MASKED);
            out.varint(*stops);
        }
        Marker::Fork { child } => {
            out.byte(event::FORK);
            out.varint(u64::from(*child));
        }
        Marker::Exec => out.byte(event::EXEC),
        Marker::Exit { status } => {
            out.byte(event::EXIT);
            out.varint(u64::from(*status));
        }
        Marker::Lost { reason, expected, found, detail } => {
            out.byte(event::LOST);
            out.byte(*reason as u8);
            out.distance(state.address.0, expected.0);
            out.distance(state.address.0, found.0);
            out.varint(*detail);
        }
    }
}

#[inline(always)]
const fn bit(set: bool, bit: u8) -> u8 {
    if set { bit } else { 0 }
}

#[inline(always)]
const fn same_verdict(verdict: Verdict, reconstructed: bool) -> bool {
    match verdict {
        Verdict::Exact => !reconstructed,
        Verdict::Reconstructed => reconstructed,
        Verdict::Zero | Verdict::Skid(_) | Verdict::Unexplained { .. } | Verdict::Lost => false,
    }
}

fn verdict(out: &mut Cursor<'_>, verdict: Verdict, address: RuntimeAddr) {
    match verdict {
        Verdict::Exact => out.byte(verdict_number::EXACT),
        Verdict::Zero => out.byte(verdict_number::ZERO),
        Verdict::Skid(n) => {
            out.byte(verdict_number::SKID);
            out.varint(u64::from(n));
        }
        Verdict::Reconstructed => out.byte(verdict_number::RECONSTRUCTED),
        Verdict::Unexplained { expected } => {
            out.byte(verdict_number::UNEXPLAINED);
            out.distance(address.0, expected.0);
        }
        Verdict::Lost => out.byte(verdict_number::LOST),
    }
}

/// A mask of what changed, in [`MASK_ORDER`], then each new value.
fn register_change(out: &mut Cursor<'_>, before: &Registers, after: &Registers) {
    let mut mask = 0;
    for (place, &register) in MASK_ORDER.iter().enumerate() {
        mask |= u64::from(value(before, register) != value(after, register)) << place;
    }
    out.varint(mask);
    for (place, &register) in MASK_ORDER.iter().enumerate() {
        if mask >> place & 1 == 0 {
            continue;
        }
        match after.general.get(register) {
            Some(&new) => out.change(value(before, register), new),
            None => flags(out, after.rflags),
        }
    }
}

/// A general register, or RFLAGS for any other number.
#[inline(always)]
fn value(registers: &Registers, register: usize) -> u64 {
    registers.general.get(register).copied().unwrap_or(registers.rflags)
}

fn flags(out: &mut Cursor<'_>, rflags: u64) {
    let mut packed = 0;
    let mut rest = rflags;
    for (place, &flag) in PACKED_FLAGS.iter().enumerate() {
        packed |= u8::from(rflags & flag != 0) << place;
        rest &= !flag;
    }
    if rest == PACKED_REST {
        out.byte(packed);
    } else {
        out.byte(packed | FLAGS_ESCAPE);
        out.varint(rflags);
    }
}

fn memory(out: &mut Cursor<'_>, last: RuntimeAddr, operands: &[MemoryAccess]) {
    out.byte(operands.len().min(MAX_OPERANDS) as u8);
    let mut last = last;
    for operand in operands.iter().take(MAX_OPERANDS) {
        let size = operand.size.min(64);
        out.byte(match operand.access {
            Access::Read => 1,
            Access::Write => 2,
            Access::ReadWrite => 3,
        });
        out.byte(size);
        out.distance(last.0, operand.address.0);
        for &byte in operand.value.iter().take(usize::from(size)) {
            out.byte(byte);
        }
        last = operand.address;
    }
}

fn syscall(out: &mut Cursor<'_>, call: &Syscall) {
    out.varint(call.number);
    for &argument in &call.arguments {
        out.varint(argument);
    }
    out.distance(0, call.result);
}
