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

/// The registers on both sides of an instruction, as the reader gives them back. In block stepping only a row that
/// lies between two stops alone has one; of a run of several, the registers at its start are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterChange {
    pub before: Registers,
    pub after: Registers,
}

/// The same, borrowed: moving two whole register sets by value would make the compiler call `memcpy`, which the
/// handler must not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterChangeRef<'a> {
    pub before: &'a Registers,
    pub after: &'a Registers,
}

/// One retired instruction, on its way into a [`ThreadWriter`](super::writer::ThreadWriter).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step<'a> {
    /// Where the instruction lies. Costs nothing in the file where it is the previous step's `next`.
    pub address: RuntimeAddr,
    /// How `address` was reached.
    pub verdict: Verdict,
    /// Where control had to go next by the prediction made *before* the instruction ran. For a call that is
    /// run natively this is the call's target; the `native` marker that follows says where stepping resumes.
    pub next: RuntimeAddr,
    /// `None` when registers are not recorded or, in a run of several rows between two stops, not known.
    pub registers: Option<RegisterChangeRef<'a>>,
    /// Iterations of a `rep` string instruction.
    pub count: Option<u64>,
    /// At most [`MAX_OPERANDS`] are kept.
    pub memory: &'a [MemoryAccess],
    /// The executed bytes (at most 15), only where they differ from the code chunk that covers `address`.
    pub bytes: Option<&'a [u8]>,
    /// Depth of this row: 0 in the traced function.
    pub depth: u32,
    pub syscall: Option<&'a Syscall>,
}

/// Memory operands kept per step. A gather of sixteen lanes has the most.
pub const MAX_OPERANDS: usize = 16;

/// The longest x86 instruction, in bytes (SDM volume 2, section 2.3.11).
pub const MAX_INSTRUCTION: usize = 15;
