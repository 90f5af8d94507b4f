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
    /// What is read is one of those that the C library keeps and no two processes share: the stack guard, the pointer guard,
    /// the thread's id, a key that it drew.
    pub secret: bool,
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
    step: &StepEntry,
    used: &[UsedRegister],
    touched: &[(Access, RuntimeAddr, u16)],
    change: Option<&RegisterChange>,
    taint: &Taint,
    regions: &Regions,
) -> Inputs {
    let mut inputs = Inputs::default();
    let mut addresses: Vec<(usize, u64)> = Vec::new();
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
                && addresses.iter().all(|(other, _)| *other != index)
            {
                inputs.together |= addresses.iter().any(|(_, other)| regions.are_together(*other, value));
                addresses.push((index, value));
            }
        } else if let Some(index) = vector(register) {
            inputs.tainted |= taint.vector(index);
        }
    }
    inputs.tainted |= rflags(instruction.rflags_read()) & taint.flags != 0;
    for (access, address, size) in touched {
        inputs.tainted |= *access != Access::Write && taint.memory(address.0, u64::from(*size));
    }
    inputs.secret = is_secret(instruction, step, touched, change, regions);
    inputs.tainted |= inputs.secret;
    inputs.addresses = addresses.len() as u32;
    inputs
}

fn is_secret(
    instruction: &Instruction,
    step: &StepEntry,
    touched: &[(Access, RuntimeAddr, u16)],
    change: Option<&RegisterChange>,
    regions: &Regions,
) -> bool {
    let value = value_read(instruction, step, change);
    if instruction.segment_prefix() == Register::FS {
        let guard = instruction.memory_base() == Register::None
            && GUARDS.contains(&instruction.memory_displacement64());
        return guard || value == Some(u64::from(step.thread));
    }
    let word = |(access, address, size): &(Access, RuntimeAddr, u16)| {
        *access != Access::Write && *size == 8 && regions.is_library_data(address.0)
    };
    touched.iter().any(word) && value.is_some_and(|value| is_drawn(value) && !regions.is_address(value))
}

/// What the C library draws by chance, such as malloc's key for freed chunks, and pointers that it mangles fill a word;
/// nothing else does in its data.
const fn is_drawn(value: u64) -> bool {
    const LARGEST_ADDRESS: u64 = 1 << 48;
    const SMALLEST_NEGATIVE: u64 = (1_u64 << 32).wrapping_neg();
    LARGEST_ADDRESS <= value && value < SMALLEST_NEGATIVE
}

/// The number that the instruction read from memory: as recorded, or what a move left in its register.
fn value_read(instruction: &Instruction, step: &StepEntry, change: Option<&RegisterChange>) -> Option<u64> {
    if let Some(read) = step.memory.iter().find(|it| it.access != Access::Write) {
        let bytes = read.value.get(..usize::from(read.size)).filter(|bytes| bytes.len() <= 8)?;
        return Some(bytes.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte)));
    }
    let moves = matches!(instruction.mnemonic(), Mnemonic::Mov | Mnemonic::Movsxd);
    let index =
        general(instruction.op0_register()).filter(|_| moves && instruction.op1_kind() == OpKind::Memory)?;
    Some(change?.after.general[index])
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_neither_small_numbers_nor_addresses() {
        for key in [0x1ec3_bfb5_cd63_adf5, 0xdd39_00ae_3a2e_b3fb, 0xffff_e8b9_7690_ff27] {
            assert!(is_drawn(key), "{key:#x}");
        }
        for number in [0, 1, 0x7fff_ffff_ffff, u64::MAX, (-4096_i64) as u64] {
            assert!(!is_drawn(number), "{number:#x}");
        }
    }
}
