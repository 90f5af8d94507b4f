//! The registers of one stop: sixteen general ones, RIP and RFLAGS.

use crate::address::RuntimeAddr;

/// Lower-case names in hardware encoding order, the order of [`Registers::general`].
pub const GENERAL_NAMES: [&str; 16] = [
    "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
    "r15",
];

pub const RAX: usize = 0;
pub const RCX: usize = 1;
pub const RDX: usize = 2;
pub const RBX: usize = 3;
pub const RSP: usize = 4;
pub const RBP: usize = 5;
pub const RSI: usize = 6;
pub const RDI: usize = 7;
pub const R8: usize = 8;
pub const R9: usize = 9;
pub const R10: usize = 10;
pub const R11: usize = 11;

/// The registers of a function's first arguments, in the order of the calling convention (System V ABI, 3.2.3).
pub const ARGUMENTS: [usize; 6] = [RDI, RSI, RDX, RCX, R8, R9];
/// The registers of a system call's arguments (System V ABI, A.2.1).
pub const SYSCALL_ARGUMENTS: [usize; 6] = [RDI, RSI, RDX, R10, R8, R9];

/// RFLAGS bits, by name as in the SDM, volume 1, section 3.4.3.
pub mod flag {
    pub const CF: u64 = 1 << 0;
    pub const PF: u64 = 1 << 2;
    pub const AF: u64 = 1 << 4;
    pub const ZF: u64 = 1 << 6;
    pub const SF: u64 = 1 << 7;
    pub const TF: u64 = 1 << 8;
    pub const DF: u64 = 1 << 10;
    pub const OF: u64 = 1 << 11;
    pub const RF: u64 = 1 << 16;
}

/// What the CPU held at an instruction boundary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Registers {
    /// General registers in hardware encoding order: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 … r15.
    pub general: [u64; 16],
    pub rip: RuntimeAddr,
    /// RFLAGS without RF, and without a TF that the tracer set.
    pub rflags: u64,
}

impl Registers {
    /// The arguments of the system call that is next, in order.
    ///
    /// # Signal safety
    /// Reads `self`.
    #[must_use]
    pub fn syscall_arguments(&self) -> [u64; 6] {
        SYSCALL_ARGUMENTS.map(|register| self.general.get(register).copied().unwrap_or(0))
    }
}
