//! One retired instruction, as the handler hands it to the buffer and as the reader gives it back.

use super::verdict::Verdict;
use crate::address::RuntimeAddr;
use crate::registers::Registers;

/// How an instruction touched memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
    ReadWrite,
}

/// One memory operand of a retired instruction. `value` is what was read, or for writes what was left there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryAccess {
    pub access: Access,
    pub address: RuntimeAddr,
    /// Operand size in bytes, 1 to 64.
    pub size: u8,
    /// The first `size` bytes count.
    pub value: [u8; 64],
}

/// What a retired `syscall` instruction asked and got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Syscall {
    pub number: u64,
    /// rdi, rsi, rdx, r10, r8, r9.
    pub arguments: [u64; 6],
    /// rax afterwards: a value, or a negated errno.
    pub result: u64,
}

/// The registers on both sides of an instruction. `None` in a [`Step`] when registers are not recorded or,
/// inside a block that was not stopped in, not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterChange {
    pub before: Registers,
    pub after: Registers,
}

/// One retired instruction. Its own address is not stored: it is where the previous step said control went.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step<'a> {
    pub address: RuntimeAddr,
    /// How `address` was reached.
    pub verdict: Verdict,
    /// Where control had to go next by the prediction made *before* the instruction ran. For a call that is
    /// run natively this is the call's target; the `native` marker that follows says where stepping resumes.
    pub next: RuntimeAddr,
    pub registers: Option<RegisterChange>,
    /// Iterations of a `rep` string instruction.
    pub count: Option<u64>,
    pub memory: &'a [MemoryAccess],
    /// The executed bytes, only where they differ from the code chunk that covers `address`.
    pub bytes: Option<&'a [u8]>,
    /// Depth of the next row minus the depth of this one.
    pub depth_change: i32,
    pub syscall: Option<Syscall>,
}
