//! How one instruction carries values on.

use iced_x86::{
    Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register, RflagsBits, UsedRegister,
};

use super::regions::Regions;
use super::taint::Taint;
use crate::address::RuntimeAddr;
use crate::check::recorded_memory::RecordedMemory;
use crate::image::class::Class;
use crate::image::decode::warm_up;
use crate::image::operands::{self, operands};
use crate::record::reader::StepEntry;
use crate::record::step::{Access, RegisterChange};
use crate::registers::{R11, RAX, RCX, RSP, flag};

/// iced's bits of the flags that listings name, and the CPU's.
const FLAGS: [(u32, u64); 7] = [
    (RflagsBits::CF, flag::CF),
    (RflagsBits::PF, flag::PF),
    (RflagsBits::AF, flag::AF),
    (RflagsBits::ZF, flag::ZF),
    (RflagsBits::SF, flag::SF),
    (RflagsBits::DF, flag::DF),
    (RflagsBits::OF, flag::OF),
];

/// Offsets from fs of the stack guard and the pointer guard (glibc `sysdeps/x86_64/nptl/tls.h`, tcbhead_t).
const GUARDS: [u64; 2] = [0x28, 0x30];

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

/// What went into the result of an instruction.
#[derive(Clone, Copy, Debug, Default)]
struct Inputs {
    tainted: bool,
    /// Registers that hold addresses.
    addresses: u32,
    /// Two of them lie in one region, so that their difference is the same in every run.
    together: bool,
    /// The stack guard or the pointer guard is read.
    guard: bool,
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
        let inputs = inputs(instruction, &used, &touched, change, taint, regions);
        let difference = inputs.together && matches!(instruction.mnemonic(), Mnemonic::Sub | Mnemonic::Cmp);
        let derived = inputs.addresses > 0 && !difference && !keeps_alignment_only(instruction);
        let written = self.write_registers(instruction, step, &used, inputs, derived, change, taint, regions);
        for (access, address, size) in &touched {
            if *access != Access::Read || inputs.guard {
                taint.set_memory(address.0, u64::from(*size), inputs.tainted);
            }
        }
        let after = |index: usize| change.map(|change| change.after.general[index]);
        let results = || (0..16).filter(|index| *index != RSP || !instruction.is_stack_instruction());
        let address = results().any(|index| {
            written >> index & 1 != 0 && after(index).is_some_and(|value| regions.is_address(value))
        });
        let flags = write_flags(instruction, inputs, derived || address && !difference, taint);
        Written { registers: written, flags }
    }

    #[allow(clippy::too_many_arguments, reason = "one instruction and everything that decides about it")]
    fn write_registers(
        &self,
        instruction: &Instruction,
        step: &StepEntry,
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
                // The C library keeps the thread's id among its own data.
                let thread =
                    instruction.segment_prefix() == Register::FS && after == Some(u64::from(step.thread));
                taint.set_register(index, source || inputs.tainted || lost || kept || thread);
            } else if let Some(index) = vector(register) {
                taint.set_vector(index, inputs.tainted);
            }
        }
        written
    }
}

/// The memory that the instruction touched: as recorded, or by its operands.
fn touched(
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

fn inputs(
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
fn only_addresses(instruction: &Instruction, register: Register) -> bool {
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

/// Whether the result depends on nothing but the lowest four bits of an address, which are the same in every run.
fn keeps_alignment_only(instruction: &Instruction) -> bool {
    let masks = matches!(instruction.mnemonic(), Mnemonic::And | Mnemonic::Test);
    let immediate = instruction.op_count() == 2 && instruction.op1_kind() != OpKind::Register;
    masks && immediate && !matches!(instruction.op1_kind(), OpKind::Memory) && instruction.immediate(1) < 16
}

fn write_flags(instruction: &Instruction, inputs: Inputs, derived: bool, taint: &mut Taint) -> u64 {
    let written = rflags(instruction.rflags_written());
    let fixed = rflags(instruction.rflags_cleared() | instruction.rflags_set());
    let undefined = rflags(instruction.rflags_undefined());
    let chance = if inputs.tainted {
        written
    } else if inputs.together {
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

/// The flags that iced names, as bits of RFLAGS.
fn rflags(bits: u32) -> u64 {
    FLAGS.iter().filter(|(iced, _)| bits & iced != 0).fold(0, |all, (_, bit)| all | bit)
}

fn general(register: Register) -> Option<usize> {
    register.is_gpr().then(|| register.full_register() as usize - Register::RAX as usize)
}

fn vector(register: Register) -> Option<usize> {
    register.is_vector_register().then(|| register.number())
}

const fn reads(access: OpAccess) -> bool {
    matches!(access, OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}

const fn writes(access: OpAccess) -> bool {
    matches!(access, OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}
