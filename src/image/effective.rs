//! The address of an explicit memory operand, from the registers before the instruction.

use super::memory::Memory;
use crate::address::RuntimeAddr;
use crate::registers::{RDI, RSI, Registers};
use iced_x86::{Instruction, OpKind, Register};

const LOW_32: u64 = 0xffff_ffff;

/// The linear address of the operand of kind `kind`; `None` for a kind that is no memory operand, and for
/// vector-indexed ones (gather and scatter), which have no single address.
///
/// # Signal safety
/// Reads its arguments; asks `memory` for a segment base only when the operand has an fs or gs override.
pub(super) fn address(
    instruction: &Instruction,
    kind: OpKind,
    registers: &Registers,
    memory: &impl Memory,
) -> Option<RuntimeAddr> {
    let overridable = segment_base(instruction.memory_segment(), memory);
    let general = &registers.general;
    let linear = match kind {
        OpKind::Memory => overridable.wrapping_add(offset(instruction, registers)?),
        OpKind::MemorySegRSI => overridable.wrapping_add(general[RSI]),
        OpKind::MemorySegESI => overridable.wrapping_add(general[RSI] & LOW_32),
        OpKind::MemorySegRDI => overridable.wrapping_add(general[RDI]),
        OpKind::MemorySegEDI => overridable.wrapping_add(general[RDI] & LOW_32),
        // The es destination of a string instruction cannot be overridden, and es has base 0 in 64-bit mode.
        OpKind::MemoryESRDI => general[RDI],
        OpKind::MemoryESEDI => general[RDI] & LOW_32,
        _ => return None,
    };
    Some(RuntimeAddr(linear))
}

/// Base plus scaled index plus displacement, cut to the address size.
fn offset(instruction: &Instruction, registers: &Registers) -> Option<u64> {
    let (base, index) = (instruction.memory_base(), instruction.memory_index());
    // iced has already added RIP (or EIP) to the displacement.
    let mut sum = instruction.memory_displacement64();
    let mut narrow = base == Register::EIP || base.is_gpr32() || index.is_gpr32();
    if base == Register::None && index == Register::None {
        narrow = instruction.memory_displ_size() == 4;
    }
    if !matches!(base, Register::None | Register::RIP | Register::EIP) {
        sum = sum.wrapping_add(general_value(registers, base)?);
    }
    if index != Register::None {
        let value = general_value(registers, index)?;
        sum = sum.wrapping_add(value.wrapping_mul(u64::from(instruction.memory_index_scale())));
    }
    Some(if narrow { sum & LOW_32 } else { sum })
}

/// The value of a 64-, 32- or 16-bit general register, or of `al` (the index of `xlat`).
pub(super) fn general_value(registers: &Registers, register: Register) -> Option<u64> {
    let (first, mask) = if register.is_gpr64() {
        (Register::RAX, u64::MAX)
    } else if register.is_gpr32() {
        (Register::EAX, LOW_32)
    } else if register.is_gpr16() {
        (Register::AX, 0xffff)
    } else if register == Register::AL {
        (Register::AL, 0xff)
    } else {
        return None;
    };
    let index = (register as usize).wrapping_sub(first as usize);
    registers.general.get(index).map(|value| value & mask)
}

/// What the segment adds: only fs and gs have a base in 64-bit mode (SDM volume 1, section 3.4.2.1).
fn segment_base(segment: Register, memory: &impl Memory) -> u64 {
    match segment {
        Register::FS => memory.fs_base(),
        Register::GS => memory.gs_base(),
        _ => 0,
    }
}
