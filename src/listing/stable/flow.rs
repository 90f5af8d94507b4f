//! How one instruction carries values on.

use iced_x86::{Instruction, InstructionInfoFactory, Mnemonic, OpKind, UsedRegister};

use super::inputs::{Inputs, inputs, touched};
use super::operand_kinds::{general, rflags, vector, writes};
use super::regions::Regions;
use super::taint::Taint;
use crate::image::class::Class;
use crate::image::decode::warm_up;
use crate::record::reader::StepEntry;
use crate::record::step::{Access, RegisterChange};
use crate::registers::{R11, RAX, RCX, RSP, flag};

/// What an instruction wrote.
#[derive(Clone, Debug, Default)]
pub struct Written {
    /// General registers, a bit each.
    pub registers: u16,
    /// RFLAGS bits.
    pub flags: u64,
}

/// Follows instructions.
pub struct Flow {
    factory: InstructionInfoFactory,
}

impl Default for Flow {
    fn default() -> Self {
        warm_up(); // what lists the operands of instructions
        Self { factory: InstructionInfoFactory::new() }
    }
}

impl Flow {
    /// Carries `taint` over the instruction, and says what it wrote. Without the registers, which block stepping does not
    /// know in the middle of a block, addresses are not told from numbers.
    pub fn follow(
        &mut self,
        instruction: &Instruction,
        step: &StepEntry,
        change: Option<&RegisterChange>,
        taint: &mut Taint,
        regions: &Regions,
    ) -> Written {
        if Class::of(instruction) == Class::Syscall {
            // The kernel's answer, where it returned to, and all flags (SDM volume 2, SYSCALL).
            for (register, tainted) in [(RAX, true), (RCX, false), (R11, true)] {
                taint.set_register(register, tainted);
            }
            return Written { registers: 1 << RAX | 1 << RCX | 1 << R11, flags: 0 };
        }
        let touched = touched(instruction, step, change);
        let used: Vec<_> = self.factory.info(instruction).used_registers().to_vec();
        let inputs = inputs(instruction, step, &used, &touched, change, taint, regions);
        let difference = inputs.together && matches!(instruction.mnemonic(), Mnemonic::Sub | Mnemonic::Cmp);
        let derived = inputs.addresses > 0 && !difference && !keeps_alignment_only(instruction);
        let written = self.write_registers(instruction, &used, inputs, derived, change, taint, regions);
        for (access, address, size) in &touched {
            if *access != Access::Read || inputs.secret {
                taint.set_memory(address.0, u64::from(*size), inputs.tainted);
            }
        }
        let after = |index: usize| change.map(|change| change.after.general[index]);
        let results = || (0..16).filter(|index| *index != RSP || !instruction.is_stack_instruction());
        let address = results().any(|index| {
            written >> index & 1 != 0 && after(index).is_some_and(|value| regions.is_address(value))
        });
        let derived = derived || address && !difference;
        let flags = write_flags(instruction, inputs.tainted, difference, derived, taint);
        Written { registers: written, flags }
    }

    #[allow(clippy::too_many_arguments, reason = "one instruction and everything that decides about it")]
    fn write_registers(
        &self,
        instruction: &Instruction,
        used: &[UsedRegister],
        inputs: Inputs,
        derived: bool,
        change: Option<&RegisterChange>,
        taint: &mut Taint,
        regions: &Regions,
    ) -> u16 {
        let source = is_source(instruction);
        // Pointers and counts of string instructions move on whatever the data is.
        let string = instruction.is_string_instruction();
        let mut written = 0;
        for it in used.iter().filter(|it| writes(it.access())) {
            let register = it.register();
            if let Some(index) = general(register) {
                written |= 1 << index;
                if index == RSP || string && index != RAX {
                    continue;
                }
                let kept = register.size() < 4 && taint.register(index);
                let after = change.map(|change| change.after.general[index]);
                let lost = derived && after.is_some_and(|after| !regions.is_address(after));
                taint.set_register(index, source || inputs.tainted || lost || kept);
            } else if let Some(index) = vector(register) {
                taint.set_vector(index, inputs.tainted);
            }
        }
        written
    }
}

/// Whether the result depends on nothing but the lowest four bits of an address, which are the same in every run.
fn keeps_alignment_only(instruction: &Instruction) -> bool {
    let masks = matches!(instruction.mnemonic(), Mnemonic::And | Mnemonic::Test);
    let immediate = instruction.op_count() == 2 && instruction.op1_kind() != OpKind::Register;
    masks && immediate && !matches!(instruction.op1_kind(), OpKind::Memory) && instruction.immediate(1) < 16
}

/// `tainted`, a `difference` of two addresses of one region, or `derived` from one address: what the flags say.
fn write_flags(
    instruction: &Instruction,
    tainted: bool,
    difference: bool,
    derived: bool,
    taint: &mut Taint,
) -> u64 {
    let written = rflags(instruction.rflags_written());
    let fixed = rflags(instruction.rflags_cleared() | instruction.rflags_set());
    let undefined = rflags(instruction.rflags_undefined());
    let chance = if tainted {
        written
    } else if difference {
        // Strings that the kernel puts on the stack need not keep their lowest digit.
        written & flag::AF
    } else if derived {
        // Of an address the sign, and whether it is zero, are the same in every run; its lower half is not.
        let wide = instruction.op0_register().size() == 8 || instruction.memory_size().size() == 8;
        written & if wide { flag::PF | flag::AF } else { u64::MAX }
    } else {
        0
    };
    taint.flags = taint.flags & !(written | fixed) | chance | undefined;
    written | fixed | undefined
}

/// Whether the instruction asks the CPU for something that differs between machines or moments.
fn is_source(instruction: &Instruction) -> bool {
    matches!(
        instruction.mnemonic(),
        Mnemonic::Cpuid
            | Mnemonic::Rdtsc
            | Mnemonic::Rdtscp
            | Mnemonic::Rdrand
            | Mnemonic::Rdseed
            | Mnemonic::Rdpid
            | Mnemonic::Rdpmc
            | Mnemonic::Xgetbv
            | Mnemonic::Rdfsbase
            | Mnemonic::Rdgsbase
            | Mnemonic::Xbegin
    )
}
