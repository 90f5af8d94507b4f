//! How each instruction code accesses its explicit operands, computed once so that a handler can look it up.
//!
//! iced-x86 answers the question only through a factory that owns two vectors.

use iced_x86::{Code, Instruction, InstructionInfoFactory, InstructionInfoOptions, OpAccess, OpKind};
use std::sync::OnceLock;

/// Operands that an instruction can have (iced-x86, `IcedConstants::MAX_OP_COUNT`).
const OPERANDS: usize = 5;

static TABLE: OnceLock<Vec<[OpAccess; OPERANDS]>> = OnceLock::new();

/// Fills the table; later calls do nothing.
pub(super) fn build() {
    TABLE.get_or_init(|| {
        let mut factory = InstructionInfoFactory::new();
        Code::values().map(|code| row(&mut factory, code)).collect()
    });
}

/// How operand `operand` of `code` is accessed when it is in memory; `None` before [`build`].
///
/// # Signal safety
/// One atomic load and two bounded lookups.
pub(super) fn access(code: Code, operand: usize) -> Option<OpAccess> {
    TABLE.get()?.get(code as usize)?.get(operand).copied()
}

fn row(factory: &mut InstructionInfoFactory, code: Code) -> [OpAccess; OPERANDS] {
    let mut row = [OpAccess::None; OPERANDS];
    let mut plain = Instruction::default();
    plain.set_code(code);
    for (operand, access) in row.iter_mut().enumerate().take(plain.op_count() as usize) {
        let mut instruction = plain;
        // Some instructions read a register destination but only write a memory one (movlps, movss).
        if operand < 4 {
            instruction.set_op_kind(operand as u32, OpKind::Memory);
        }
        let options = InstructionInfoOptions::NO_MEMORY_USAGE | InstructionInfoOptions::NO_REGISTER_USAGE;
        *access = factory.info_options(&instruction, options).op_access(operand as u32);
    }
    row
}
