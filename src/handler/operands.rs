//! Memory operands of the instruction at the stop, with the values they had or got.

use iced_x86::{FlowControl, Instruction, Mnemonic, OpKind};

use super::pending::MOST_OPERANDS;
use crate::address::RuntimeAddr;
use crate::image::memory::{Memory, OwnMemory};
use crate::image::operands::{Access as Reach, operands};
use crate::record::step::{Access, MemoryAccess};
use crate::registers::Registers;

pub(super) const NONE: MemoryAccess =
    MemoryAccess { access: Access::Read, address: RuntimeAddr(0), size: 0, value: [0; 64] };

/// The operands before the instruction runs: reads have their values, writes wait for [`after`].
///
/// # Signal safety
/// process_vm_readv, which cannot fault.
pub(super) fn before(
    instruction: &Instruction,
    registers: &Registers,
    memory: OwnMemory,
) -> [Option<MemoryAccess>; MOST_OPERANDS] {
    let mut out = [None; MOST_OPERANDS];
    for (to, operand) in out.iter_mut().zip(operands(instruction, registers, &memory).as_slice()) {
        let size = operand.size.min(64) as u8;
        let access = match operand.access {
            Reach::Read => Access::Read,
            Reach::Write => Access::Write,
            Reach::ReadWrite => Access::ReadWrite,
        };
        let mut found = MemoryAccess { access, address: operand.address, size, ..NONE };
        let readable =
            found.value.get_mut(..usize::from(size)).is_some_and(|value| memory.read(found.address, value));
        // Unreadable before a write is no reason to leave it out: the value is read again afterwards.
        if size > 0 && (readable || !matches!(access, Access::Read)) {
            *to = Some(found);
        }
    }
    out
}

/// Fills in what the instruction left in the places it wrote.
///
/// # Signal safety
/// As [`before`].
pub(super) fn after(operands: &mut [Option<MemoryAccess>; MOST_OPERANDS], memory: OwnMemory) {
    for operand in operands.iter_mut().flatten().filter(|operand| !matches!(operand.access, Access::Read)) {
        let (address, size) = (operand.address, usize::from(operand.size));
        if let Some(value) = operand.value.get_mut(..size) {
            let _ = memory.read(address, value);
        }
    }
}

/// Fills in what the instruction is going to leave, or leaves out what cannot be foretold: calls push their return
/// address, plain stores a register.
///
/// # Signal safety
/// Plain values.
pub(super) fn foretell(
    operands: &mut [Option<MemoryAccess>; MOST_OPERANDS],
    instruction: &Instruction,
    registers: &Registers,
) {
    let stores = instruction.mnemonic() == Mnemonic::Mov && instruction.op1_kind() == OpKind::Register;
    let stored = instruction.op1_register();
    let value = match instruction.flow_control() {
        FlowControl::Call | FlowControl::IndirectCall => Some(instruction.next_ip()),
        _ if stores && stored.is_gpr64() => registers.general.get(stored.number()).copied(),
        _ => None,
    };
    for place in operands.iter_mut() {
        let Some(operand) = place.as_mut().filter(|operand| !matches!(operand.access, Access::Read)) else {
            continue;
        };
        match (value, operand.value.first_chunk_mut(), operand.size) {
            (Some(value), Some(bytes), 8) => *bytes = value.to_le_bytes(),
            _ => *place = None,
        }
    }
}
