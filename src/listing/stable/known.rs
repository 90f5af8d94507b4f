//! Values of general registers in the middle of a block, as far as they follow from those at its start.

use iced_x86::{Instruction, InstructionInfoFactory, Mnemonic, OpKind, Register};

use super::operand_kinds::{general, writes};
use crate::registers::{RSP, Registers};

/// Block stepping sees the registers where it stops. In between, the addresses that an instruction touches follow from moves
/// and from what is added to pointers.
#[derive(Clone, Debug, Default)]
pub struct Known {
    values: [Option<u64>; 16],
}

impl Known {
    /// All of them, where they were seen.
    pub fn seen(&mut self, registers: &Registers) {
        self.values = registers.general.map(Some);
    }

    pub fn forget(&mut self) {
        self.values = [None; 16];
    }

    #[must_use]
    pub const fn get(&self, index: usize) -> Option<u64> {
        self.values[index]
    }

    /// All registers, if those that the instruction's addresses are made of are known.
    #[must_use]
    pub fn for_addresses(&self, instruction: &Instruction) -> Option<Registers> {
        let explicit = (0..instruction.op_count()).any(|i| instruction.op_kind(i) == OpKind::Memory);
        let parts = [instruction.memory_base(), instruction.memory_index()].into_iter().filter(|_| explicit);
        let mut needed = parts.filter_map(general);
        if instruction.is_string_instruction() || instruction.mnemonic() == Mnemonic::Leave {
            return None;
        }
        let stack = !instruction.is_stack_instruction() || self.values[RSP].is_some();
        (stack && needed.all(|index| self.values[index].is_some())).then(|| Registers {
            general: self.values.map(Option::unwrap_or_default),
            ..Registers::default()
        })
    }

    /// Goes on behind the instruction.
    pub fn follow(&mut self, instruction: &Instruction, factory: &mut InstructionInfoFactory) {
        let result = self.result(instruction);
        let rsp = self.values[RSP];
        for it in factory.info(instruction).used_registers().iter().filter(|it| writes(it.access())) {
            if let Some(index) = general(it.register()) {
                self.values[index] = None;
            }
        }
        if instruction.is_stack_instruction() && instruction.mnemonic() != Mnemonic::Leave {
            let moved = i64::from(instruction.stack_pointer_increment()) as u64;
            self.values[RSP] = rsp.map(|rsp| rsp.wrapping_add(moved));
        }
        if let (Some(value), Some(index)) = (result, whole(instruction.op0_register())) {
            self.values[index] = Some(value);
        }
    }

    /// What a move, an addition or an address comes to.
    fn result(&self, instruction: &Instruction) -> Option<u64> {
        let value = |register| whole(register).and_then(|index| self.values[index]);
        let one = || value(instruction.op0_register());
        let other = || match instruction.op_kind(1) {
            OpKind::Register => value(instruction.op1_register()),
            OpKind::Memory => None,
            _ => Some(instruction.immediate(1)),
        };
        match instruction.mnemonic() {
            _ if instruction.op_count() == 0 || instruction.op0_kind() != OpKind::Register => None,
            Mnemonic::Mov => other(),
            Mnemonic::Add => Some(one()?.wrapping_add(other()?)),
            Mnemonic::Sub => Some(one()?.wrapping_sub(other()?)),
            Mnemonic::And => Some(one()? & other()?),
            Mnemonic::Inc => Some(one()?.wrapping_add(1)),
            Mnemonic::Dec => Some(one()?.wrapping_sub(1)),
            Mnemonic::Lea => {
                let part = |register| match register {
                    Register::None | Register::RIP => Some(0),
                    register => value(register),
                };
                let scale = u64::from(instruction.memory_index_scale());
                let index = part(instruction.memory_index())?.wrapping_mul(scale);
                Some(
                    part(instruction.memory_base())?
                        .wrapping_add(index)
                        .wrapping_add(instruction.memory_displacement64()),
                )
            }
            _ => None,
        }
    }
}

/// A whole general register.
fn whole(register: Register) -> Option<usize> {
    general(register).filter(|_| register.size() == 8)
}
