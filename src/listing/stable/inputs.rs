//! What an instruction works with.

use iced_x86::{Instruction, Mnemonic, OpKind, Register, UsedRegister};

use super::operand_kinds::{general, reads, rflags, vector};
use super::regions::Regions;
use super::taint::Taint;
use crate::address::RuntimeAddr;
use crate::check::recorded_memory::RecordedMemory;
use crate::image::operands::{self, operands};
use crate::record::reader::StepEntry;
use crate::record::step::{Access, RegisterChange};
use crate::registers::{RAX, RSP};

/// Offsets from fs of the stack guard and the pointer guard (glibc `sysdeps/x86_64/nptl/tls.h`, tcbhead_t).
const GUARDS: [u64; 2] = [0x28, 0x30];

/// What went into the result of an instruction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Inputs {
    pub tainted: bool,
    /// Registers that hold addresses.
    pub addresses: u32,
    /// Two of them lie in one region, so that their difference is the same in every run.
    pub together: bool,
    /// The stack guard or the pointer guard is read.
    pub guard: bool,
}

/// The memory that the instruction touched: as recorded, or by its operands.
pub fn touched(
    instruction: &Instruction,
    step: &StepEntry,
    change: Option<&RegisterChange>,
) -> Vec<(Access, RuntimeAddr, u16)> {
    if !step.memory.is_empty() {
        return step.memory.iter().map(|it| (it.access, it.address, u16::from(it.size))).collect();
    }
    let Some(change) = change else { return Vec::new() };
    let operands = operands(instruction, &change.before, &RecordedMemory(&[]));
    let access = |access| match access {
        operands::Access::Read => Access::Read,
        operands::Access::Write => Access::Write,
        operands::Access::ReadWrite => Access::ReadWrite,
    };
    operands.as_slice().iter().map(|it| (access(it.access), it.address, it.size)).collect()
}

pub fn inputs(
    instruction: &Instruction,
    used: &[UsedRegister],
    touched: &[(Access, RuntimeAddr, u16)],
    change: Option<&RegisterChange>,
    taint: &Taint,
    regions: &Regions,
) -> Inputs {
    let mut inputs = Inputs::default();
    let mut addresses = Vec::new();
    for register in used.iter().filter(|it| reads(it.access())).map(UsedRegister::register) {
        if only_addresses(instruction, register) {
            continue;
        }
        if let Some(index) = general(register) {
            if index == RSP && instruction.is_stack_instruction() {
                continue;
            }
            inputs.tainted |= taint.register(index);
            if let Some(value) = change.map(|change| change.before.general[index])
                && regions.is_address(value)
            {
                inputs.together |= addresses.iter().any(|other| regions.are_together(*other, value));
                addresses.push(value);
            }
        } else if let Some(index) = vector(register) {
            inputs.tainted |= taint.vector(index);
        }
    }
    inputs.tainted |= rflags(instruction.rflags_read()) & taint.flags != 0;
    for (access, address, size) in touched {
        inputs.tainted |= *access != Access::Write && taint.memory(address.0, u64::from(*size));
    }
    let guard = instruction.segment_prefix() == Register::FS
        && instruction.memory_base() == Register::None
        && GUARDS.contains(&instruction.memory_displacement64());
    inputs.tainted |= guard;
    inputs.guard = guard;
    inputs.addresses = addresses.len() as u32;
    inputs
}

/// Whether the register serves only to compute an address: what is loaded from there does not come from it.
pub fn only_addresses(instruction: &Instruction, register: Register) -> bool {
    let full = register.full_register();
    if matches!(instruction.mnemonic(), Mnemonic::Lea) {
        return false;
    }
    let addresses = [instruction.memory_base(), instruction.memory_index()];
    let operand =
        |i| instruction.op_kind(i) == OpKind::Register && instruction.op_register(i).full_register() == full;
    let explicit = (0..instruction.op_count()).any(operand);
    let string = instruction.is_string_instruction() && general(register).is_some_and(|index| index != RAX);
    string || !explicit && addresses.iter().any(|it| *it != Register::None && it.full_register() == full)
}
