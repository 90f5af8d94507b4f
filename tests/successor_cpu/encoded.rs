//! Random instructions put together operand by operand and encoded by iced-x86's encoder.

use crate::random::Random;
use crate::stepper::SCRATCH;
use iced_x86::{Code, Encoder, Instruction, OpCodeOperandKind as Kind, OpKind, Register};

/// Codes that 64-bit code can have.
pub fn codes() -> Vec<Code> {
    let valid = |code: &Code| code.op_code().is_instruction() && code.op_code().mode64();
    Code::values().filter(valid).collect()
}

/// Three instructions at `ip`; `interesting` is picked from as often as `all`.
pub fn sequence(random: &mut Random, all: &[Code], interesting: &[Code], ip: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut left = 3;
    while left > 0 {
        let code = if random.one_in(2) { random.pick(interesting) } else { random.pick(all) };
        let at = ip + bytes.len() as u64;
        let mut encoder = Encoder::new(64);
        // What the operands do not allow (a high byte register with REX, lock on a register) is tried again.
        let encoded = instruction(random, code, at).and_then(|i| encoder.encode(&i, at).ok());
        if encoded.is_some() {
            bytes.extend(encoder.take_buffer());
            left -= 1;
        }
    }
    bytes
}

fn instruction(random: &mut Random, code: Code, ip: u64) -> Option<Instruction> {
    let mut made = Instruction::default();
    made.set_code(code);
    for (operand, kind) in code.op_code().op_kinds().iter().enumerate() {
        set_operand(random, &mut made, operand as u32, *kind, ip)?;
    }
    if made.is_string_instruction() && random.one_in(2) {
        made.set_has_rep_prefix(true);
    }
    if random.one_in(32) {
        made.set_has_lock_prefix(true);
    }
    Some(made)
}

fn set_operand(random: &mut Random, made: &mut Instruction, n: u32, kind: Kind, ip: u64) -> Option<()> {
    let number = random.below(16) as u32;
    let small = random.below(8) as u32;
    let mut register = |first: Register, number: u32| {
        made.set_op_kind(n, OpKind::Register);
        made.set_op_register(n, first + number);
        Some(())
    };
    let in_memory = random.one_in(2);
    match kind {
        Kind::r8_reg | Kind::r8_opcode => register(Register::AL, small),
        Kind::r16_reg | Kind::r16_reg_mem | Kind::r16_rm | Kind::r16_opcode => register(Register::AX, number),
        Kind::r32_reg | Kind::r32_reg_mem | Kind::r32_rm | Kind::r32_opcode | Kind::r32_vvvv => {
            register(Register::EAX, number)
        }
        Kind::r64_reg | Kind::r64_reg_mem | Kind::r64_rm | Kind::r64_opcode | Kind::r64_vvvv => {
            register(Register::RAX, number)
        }
        Kind::r8_or_mem if !in_memory => register(Register::AL, small),
        Kind::r16_or_mem if !in_memory => register(Register::AX, number),
        Kind::r32_or_mem if !in_memory => register(Register::EAX, number),
        Kind::r64_or_mem if !in_memory => register(Register::RAX, number),
        Kind::mm_reg | Kind::mm_rm => register(Register::MM0, small),
        Kind::mm_or_mem if !in_memory => register(Register::MM0, small),
        Kind::xmm_reg | Kind::xmm_rm | Kind::xmm_vvvv | Kind::xmm_is4 | Kind::xmm_is5 => {
            register(Register::XMM0, number)
        }
        Kind::xmm_or_mem if !in_memory => register(Register::XMM0, number),
        Kind::ymm_reg | Kind::ymm_rm | Kind::ymm_vvvv | Kind::ymm_is4 | Kind::ymm_is5 => {
            register(Register::YMM0, number)
        }
        Kind::ymm_or_mem if !in_memory => register(Register::YMM0, number),
        Kind::zmm_reg | Kind::zmm_rm | Kind::zmm_vvvv => register(Register::ZMM0, number),
        Kind::zmm_or_mem if !in_memory => register(Register::ZMM0, number),
        Kind::k_reg | Kind::k_rm | Kind::k_vvvv => register(Register::K0, small),
        Kind::k_or_mem if !in_memory => register(Register::K0, small),
        Kind::seg_reg => register(Register::ES, random.pick(&[0, 3, 4, 5])),
        Kind::fs => register(Register::FS, 0),
        Kind::gs => register(Register::GS, 0),
        Kind::al => register(Register::AL, 0),
        Kind::cl => register(Register::CL, 0),
        Kind::ax => register(Register::AX, 0),
        Kind::dx => register(Register::DX, 0),
        Kind::eax => register(Register::EAX, 0),
        Kind::rax => register(Register::RAX, 0),
        Kind::st0 => register(Register::ST0, 0),
        Kind::sti_opcode => register(Register::ST0, small),
        Kind::mem
        | Kind::mem_mib
        | Kind::r8_or_mem
        | Kind::r16_or_mem
        | Kind::r32_or_mem
        | Kind::r64_or_mem
        | Kind::mm_or_mem
        | Kind::xmm_or_mem
        | Kind::ymm_or_mem
        | Kind::zmm_or_mem
        | Kind::k_or_mem => {
            set_memory(random, made, ip);
            made.set_op_kind(n, OpKind::Memory);
            Some(())
        }
        _ => set_constant(random, made, n, kind, ip),
    }
}

fn set_memory(random: &mut Random, made: &mut Instruction, ip: u64) {
    if random.one_in(6) {
        made.set_memory_base(Register::RIP);
        made.set_memory_displ_size(8);
        made.set_memory_displacement64(if ip >> 32 == 0 { SCRATCH + random.below(4096) } else { ip });
        return;
    }
    // Near the segment's base there is something to read, and a target to jump to.
    if random.one_in(6) {
        made.set_segment_prefix(random.pick(&[Register::FS, Register::GS]));
        made.set_memory_displ_size(8);
        made.set_memory_displacement64(random.pick(&[0, 0, 8, 0x40]));
        return;
    }
    let first = if random.one_in(5) { Register::EAX } else { Register::RAX };
    made.set_memory_base(first + random.below(16) as u32);
    if random.one_in(6) {
        let index = random.pick(&[1, 2, 9, 10]);
        made.set_memory_index(first + index);
        made.set_memory_index_scale(random.pick(&[1, 2, 4, 8]));
    }
    let displacement = random.pick(&[0_i64, 0, 0, 8, 64, -8, 0x100]);
    made.set_memory_displacement64(displacement as u64);
    made.set_memory_displ_size(if displacement == 0 { 0 } else { 8 });
    if random.one_in(16) {
        made.set_segment_prefix(random.pick(&[Register::FS, Register::GS]));
    }
}

/// Immediates, branch targets and the fixed operands of string instructions.
fn set_constant(random: &mut Random, made: &mut Instruction, n: u32, kind: Kind, ip: u64) -> Option<()> {
    let near = ip.wrapping_add(random.below(200)).wrapping_sub(100);
    let kind = match kind {
        Kind::br64_1 | Kind::br64_4 => {
            made.set_near_branch64(near);
            OpKind::NearBranch64
        }
        Kind::br16_1 | Kind::br16_2 => {
            made.set_near_branch16(near as u16);
            OpKind::NearBranch16
        }
        Kind::imm8 | Kind::imm8_const_1 => {
            let second = n > 0 && made.op_kind(n - 1) == OpKind::Immediate16;
            let value = if kind == Kind::imm8_const_1 { 1 } else { random.next() as u8 };
            if second {
                made.set_immediate8_2nd(value & 3);
                OpKind::Immediate8_2nd
            } else {
                made.set_immediate8(value);
                OpKind::Immediate8
            }
        }
        Kind::imm8sex16 => immediate(made, random.next() as i8 as i64, OpKind::Immediate8to16),
        Kind::imm8sex32 => immediate(made, random.next() as i8 as i64, OpKind::Immediate8to32),
        Kind::imm8sex64 => immediate(made, random.next() as i8 as i64, OpKind::Immediate8to64),
        Kind::imm16 => {
            made.set_immediate16((random.next() & 0x78) as u16);
            OpKind::Immediate16
        }
        Kind::imm32 => {
            made.set_immediate32(random.next() as u32);
            OpKind::Immediate32
        }
        Kind::imm32sex64 => immediate(made, random.next() as i32 as i64, OpKind::Immediate32to64),
        Kind::imm64 => {
            made.set_immediate64(random.next());
            OpKind::Immediate64
        }
        Kind::seg_rSI => random.pick(&[OpKind::MemorySegRSI, OpKind::MemorySegRSI, OpKind::MemorySegESI]),
        Kind::es_rDI => random.pick(&[OpKind::MemoryESRDI, OpKind::MemoryESRDI, OpKind::MemoryESEDI]),
        _ => return None,
    };
    made.set_op_kind(n, kind);
    Some(())
}

fn immediate(made: &mut Instruction, value: i64, kind: OpKind) -> OpKind {
    match kind {
        OpKind::Immediate8to16 => made.set_immediate8to16(value as i16),
        OpKind::Immediate8to32 => made.set_immediate8to32(value as i32),
        OpKind::Immediate8to64 => made.set_immediate8to64(value),
        _ => made.set_immediate32to64(value),
    }
    kind
}
