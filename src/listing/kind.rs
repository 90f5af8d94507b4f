//! Instructions as a reader tells them apart.

use iced_x86::{Instruction, Mnemonic, OpKind};

use crate::image::class::Class;

/// What a reader looks for a row by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Call,
    Return,
    Jump,
    Conditional,
    Other,
}

impl Kind {
    /// The kind of `instruction`.
    #[must_use]
    pub fn of(instruction: &Instruction) -> Self {
        match Class::of(instruction) {
            Class::Call { .. } => Self::Call,
            Class::Return => Self::Return,
            Class::Jump { .. } => Self::Jump,
            Class::Conditional => Self::Conditional,
            Class::Far if matches!(instruction.mnemonic(), Mnemonic::Call) => Self::Call,
            Class::Far => Self::Return,
            _ => Self::Other,
        }
    }
}

/// Whether the instruction can be the last of a frame that is left as by a return.
#[must_use]
pub fn may_return(instruction: &Instruction) -> bool {
    matches!(Class::of(instruction), Class::Return | Class::Far | Class::Jump { .. } | Class::Conditional)
}

/// Whether an operand is memory, or the stack is used.
#[must_use]
pub fn touches_memory(instruction: &Instruction) -> bool {
    let accesses = instruction.is_stack_instruction() || instruction.is_string_instruction();
    let explicit = (0..instruction.op_count()).any(|operand| instruction.op_kind(operand) == OpKind::Memory);
    accesses || explicit && !matches!(instruction.mnemonic(), Mnemonic::Lea | Mnemonic::Nop)
}
