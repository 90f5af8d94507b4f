//! What becomes of the stack pointer.

use iced_x86::{Mnemonic, OpKind, Register};

use crate::listing::code::Code;

/// What an instruction does to RSP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackMove {
    /// Aligns it to more than the sixteen bytes that every run shares.
    Aligned,
    /// Sets it to what was kept elsewhere.
    Set,
    Other,
}

/// By the instruction alone.
#[must_use]
pub fn stack_move(code: &Code) -> StackMove {
    let Some(instruction) = &code.instruction else { return StackMove::Other };
    let sets = instruction.op_count() > 0 && instruction.op0_register() == Register::RSP;
    match instruction.mnemonic() {
        Mnemonic::And if sets && instruction.op1_kind() != OpKind::Register => {
            let wide = (instruction.immediate(1) as i64) < -16;
            if wide { StackMove::Aligned } else { StackMove::Other }
        }
        Mnemonic::Leave => StackMove::Set,
        Mnemonic::Mov | Mnemonic::Lea if sets => StackMove::Set,
        _ => StackMove::Other,
    }
}
