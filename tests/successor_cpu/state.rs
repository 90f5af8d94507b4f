//! Random registers that lead somewhere: pointers into the scratch region, targets in the code page.

use crate::random::Random;
use crate::stepper::{CODE_SIZE, HIGH_CODE, LOW_CODE, SCRATCH, SCRATCH_SIZE, Stepper};
use overstep::address::RuntimeAddr;
use overstep::registers::Registers;

/// CF, PF, AF, ZF, SF, DF, OF; bit 1 always reads 1, IF is set in user mode.
const FREE_FLAGS: u64 = 0xcd5;
const FIXED_FLAGS: u64 = 0x202;

/// Offset in the code page at which sequences start: branches of 8 bits stay within the page.
pub const START: u64 = CODE_SIZE / 2;

fn scratch(random: &mut Random) -> u64 {
    (SCRATCH + SCRATCH_SIZE / 4 + random.below(SCRATCH_SIZE / 2)) & if random.one_in(4) { !0 } else { !63 }
}

pub fn code(random: &mut Random) -> u64 {
    random.pick(&[LOW_CODE, HIGH_CODE]) + 512 + random.below(CODE_SIZE - 1024)
}

fn value(random: &mut Random) -> u64 {
    match random.below(16) {
        0 => random.next(),
        1 => random.below(4),
        2 => random.below(4) | random.next() << 32,
        3 => u64::MAX - random.below(64),
        4 | 5 => code(random),
        _ => scratch(random),
    }
}

/// Fresh registers and fresh words in the scratch region, RIP at the start of the loaded sequence.
pub fn fresh(random: &mut Random, stepper: &mut Stepper) -> libc::user_regs_struct {
    let mut all = stepper.template();
    for register in [
        &mut all.rax,
        &mut all.rbx,
        &mut all.rdx,
        &mut all.rbp,
        &mut all.rsi,
        &mut all.rdi,
        &mut all.r8,
        &mut all.r9,
        &mut all.r10,
        &mut all.r11,
        &mut all.r12,
        &mut all.r13,
        &mut all.r14,
        &mut all.r15,
    ] {
        *register = value(random);
    }
    // Counters decide branches: small ones, and ones that differ only above bit 31.
    all.rcx = if random.one_in(2) { random.below(3) } else { value(random) };
    if random.one_in(3) {
        all.rcx |= 1 << 32;
    }
    all.rsp = if random.one_in(32) { value(random) } else { scratch(random) & !7 };
    all.eflags = random.next() & FREE_FLAGS | FIXED_FLAGS;
    all.rip = random.pick(&[LOW_CODE, HIGH_CODE]) + START;
    all.fs_base = scratch(random);
    all.gs_base = scratch(random);
    for _ in 0..8 {
        let offset = random.below(SCRATCH_SIZE - 8);
        let target = if random.one_in(2) { code(random) } else { value(random) };
        stepper.store(offset, target);
    }
    // What a return, and a jump through any pointer, finds.
    for pointer in [all.rsp, all.rax, all.rbx, all.rdi, all.fs_base, all.gs_base] {
        let target = code(random);
        if (SCRATCH..SCRATCH + SCRATCH_SIZE - 8).contains(&pointer) {
            stepper.store(pointer - SCRATCH, target);
        }
    }
    all
}

/// The child's registers as the library has them.
pub fn registers(all: &libc::user_regs_struct) -> Registers {
    Registers {
        general: [
            all.rax, all.rcx, all.rdx, all.rbx, all.rsp, all.rbp, all.rsi, all.rdi, all.r8, all.r9, all.r10,
            all.r11, all.r12, all.r13, all.r14, all.r15,
        ],
        rip: RuntimeAddr(all.rip),
        rflags: all.eflags,
    }
}
