//! iced's registers and flags as this crate numbers them.

use iced_x86::{OpAccess, Register, RflagsBits};

use crate::registers::flag;

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

/// The flags that iced names, as bits of RFLAGS.
pub fn rflags(bits: u32) -> u64 {
    FLAGS.iter().filter(|(iced, _)| bits & iced != 0).fold(0, |all, (_, bit)| all | bit)
}

pub fn general(register: Register) -> Option<usize> {
    register.is_gpr().then(|| register.full_register() as usize - Register::RAX as usize)
}

pub fn vector(register: Register) -> Option<usize> {
    register.is_vector_register().then(|| register.number())
}

pub const fn reads(access: OpAccess) -> bool {
    matches!(access, OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}

pub const fn writes(access: OpAccess) -> bool {
    matches!(access, OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}
