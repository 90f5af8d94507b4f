//! What stands at RIP, as far as a counter has to know before it lets the CPU run it.

use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction};
use nix::unistd::Pid;

use super::memory;
use crate::address::RuntimeAddr;

/// The longest instruction, in bytes (SDM volume 2, 2.3.11).
const LONGEST: usize = 15;

/// How an instruction behaves under the CPU's single-step flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Plain,
    /// Traps once an iteration, but retires once.
    Repeated,
    /// The one after it is not reported on its own: both have retired by then.
    Shadowing,
    /// `syscall`: into the kernel, and back behind it.
    SystemCall,
    /// `int 0x80`, `sysenter`: into the kernel by another number table.
    OtherSystemCall,
    /// `pushf`: the flag that the step set must not be seen.
    PushesFlags,
    /// `popf`, which is done for the program; the size of its operand in bytes.
    PopsFlags(u8),
    /// `iret`, likewise.
    ReturnsWithFlags(u8),
    /// `int3`, `int1` and `int $3` (two bytes): the trap is the program's own.
    OwnTrap,
    /// Flags, but no result: a conditional branch right behind it is fused with it.
    Compare,
    ConditionalBranch,
    Branch,
    /// Nothing can be read there (a fault comes, or the vsyscall page).
    Unreadable,
}

/// An instruction about to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    pub at: RuntimeAddr,
    pub kind: Kind,
    /// In bytes; 0 when it cannot be read.
    pub length: u64,
}

impl Next {
    /// Reads and decodes what stands at `at` in a stopped thread.
    #[must_use]
    pub fn read(thread: Pid, at: RuntimeAddr) -> Self {
        let mut bytes = [0; LONGEST];
        match memory::read_some(thread, at, &mut bytes) {
            Ok(read) => Self::decode(at, &bytes[..read]),
            Err(_) => Self { at, kind: Kind::Unreadable, length: 0 },
        }
    }

    fn decode(at: RuntimeAddr, bytes: &[u8]) -> Self {
        let instruction = Decoder::with_ip(64, bytes, at.0, DecoderOptions::NONE).decode();
        Self { at, kind: kind(&instruction), length: instruction.len() as u64 }
    }

    /// Whether a step over it that has moved on, to `now`, can only have ended by having run it.
    #[must_use]
    pub fn has_surely_run(&self, now: RuntimeAddr) -> bool {
        now != self.at && !matches!(self.kind, Kind::OwnTrap | Kind::Unreadable)
    }

    /// Whether it is a branch in the sense of `PERF_COUNT_HW_BRANCH_INSTRUCTIONS`.
    #[must_use]
    pub fn branches(&self) -> bool {
        matches!(self.kind, Kind::ConditionalBranch | Kind::Branch | Kind::ReturnsWithFlags(_))
    }
}

fn kind(instruction: &Instruction) -> Kind {
    if instruction.is_invalid() {
        return Kind::Unreadable;
    }
    match instruction.code() {
        Code::Syscall => return Kind::SystemCall,
        Code::Sysenter => return Kind::OtherSystemCall,
        Code::Int_imm8 if instruction.immediate8() == 0x80 => return Kind::OtherSystemCall,
        Code::Pushfq | Code::Pushfw => return Kind::PushesFlags,
        Code::Popfq => return Kind::PopsFlags(8),
        Code::Popfw => return Kind::PopsFlags(2),
        Code::Iretq => return Kind::ReturnsWithFlags(8),
        Code::Iretd => return Kind::ReturnsWithFlags(4),
        Code::Iretw => return Kind::ReturnsWithFlags(2),
        Code::Int3 | Code::Int1 => return Kind::OwnTrap,
        Code::Int_imm8 if instruction.immediate8() == 3 => return Kind::OwnTrap,
        Code::Mov_Sreg_rm16 | Code::Mov_Sreg_r32m16 | Code::Mov_Sreg_r64m16
            if instruction.op0_register() == iced_x86::Register::SS =>
        {
            return Kind::Shadowing;
        }
        _ => {}
    }
    if instruction.is_string_instruction() && (instruction.has_rep_prefix() || instruction.has_repne_prefix())
    {
        return Kind::Repeated;
    }
    match instruction.flow_control() {
        FlowControl::ConditionalBranch => Kind::ConditionalBranch,
        FlowControl::UnconditionalBranch
        | FlowControl::IndirectBranch
        | FlowControl::Return
        | FlowControl::Call
        | FlowControl::IndirectCall => Kind::Branch,
        _ => match instruction.mnemonic() {
            iced_x86::Mnemonic::Cmp | iced_x86::Mnemonic::Test => Kind::Compare,
            _ => Kind::Plain,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind_of(bytes: &[u8]) -> Kind {
        Next::decode(RuntimeAddr(0x1000), bytes).kind
    }

    #[test]
    fn each_kind_is_told_apart() {
        let cases: [(&[u8], Kind); 24] = [
            (&[0x90], Kind::Plain),
            (&[0xf3, 0x90], Kind::Plain),
            (&[0xf3, 0xa4], Kind::Repeated),
            (&[0xf2, 0xae], Kind::Repeated),
            (&[0xa4], Kind::Plain),
            (&[0x8e, 0xd0], Kind::Shadowing),
            (&[0x8e, 0xd8], Kind::Plain),
            (&[0x0f, 0x05], Kind::SystemCall),
            (&[0xcd, 0x80], Kind::OtherSystemCall),
            (&[0x9c], Kind::PushesFlags),
            (&[0x9d], Kind::PopsFlags(8)),
            (&[0xf3, 0x9d], Kind::PopsFlags(8)),
            (&[0x66, 0x9d], Kind::PopsFlags(2)),
            (&[0x48, 0xcf], Kind::ReturnsWithFlags(8)),
            (&[0xcf], Kind::ReturnsWithFlags(4)),
            (&[0x66, 0xcf], Kind::ReturnsWithFlags(2)),
            (&[0xcc], Kind::OwnTrap),
            (&[0xf1], Kind::OwnTrap),
            (&[0xcd, 0x03], Kind::OwnTrap),
            (&[0x48, 0x39, 0xd8], Kind::Compare),
            (&[0x75, 0x00], Kind::ConditionalBranch),
            (&[0xc3], Kind::Branch),
            (&[0x06], Kind::Unreadable),
            (&[], Kind::Unreadable),
        ];
        for (bytes, expected) in cases {
            assert_eq!(kind_of(bytes), expected, "{bytes:02x?}");
        }
        assert_eq!(Next::decode(RuntimeAddr(0), &[0x48, 0x39, 0xd8]).length, 3);
    }
}
