//! What kind of instruction it is, as far as stepping cares.

use iced_x86::{Code, FlowControl, Instruction, Mnemonic, Register};

/// The stepping class of an instruction. Each instruction has one: the first of these that fits it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// Goes on to the next instruction, or faults.
    Plain,
    /// `jcc`, `loop*`, `j*cxz`.
    Conditional,
    Jump {
        indirect: bool,
    },
    Call {
        indirect: bool,
    },
    /// A near return.
    Return,
    /// A transfer that loads cs: far jump, call and return, `iret`.
    Far,
    /// Enters the kernel and comes back after it: `syscall`, `int 0x80`, `sysenter`.
    Syscall,
    /// `sgdt`, `sidt`, `sldt`, `smsw`, `str`. On a CPU with UMIP the kernel carries them out and goes on behind them
    /// (Linux `arch/x86/kernel/umip.c`): as after `syscall`, the trap flag does not report the next instruction.
    DescriptorStore,
    /// A string instruction under a repeat prefix: the trap flag stops at each iteration.
    RepString,
    /// `mov ss` and `lss`: debug exceptions are held back until one more instruction has run
    /// (SDM volume 3, section 6.8.3).
    LoadsSs,
    /// Stores RFLAGS, and with it a TF that the tracer set.
    Pushf,
    /// Loads RFLAGS, and may set TF.
    Popf,
    /// Raises an exception of its own: `int3`, `int1`, `int n`, `ud*`, `hlt` and everything privileged.
    Trap,
    Xbegin,
    /// Exits to the hypervisor in a VM, which loses the breakpoint after it unless RF is cleared.
    Cpuid,
}

impl Class {
    /// The class of `instruction`.
    ///
    /// # Signal safety
    /// Table lookups in iced-x86's constant data.
    #[must_use]
    pub fn of(instruction: &Instruction) -> Self {
        let mnemonic = instruction.mnemonic();
        match mnemonic {
            Mnemonic::Syscall | Mnemonic::Sysenter => return Self::Syscall,
            Mnemonic::Sgdt | Mnemonic::Sidt | Mnemonic::Sldt | Mnemonic::Smsw | Mnemonic::Str => {
                return Self::DescriptorStore;
            }
            Mnemonic::Cpuid => return Self::Cpuid,
            Mnemonic::Xbegin => return Self::Xbegin,
            Mnemonic::Lss => return Self::LoadsSs,
            Mnemonic::Mov | Mnemonic::Pop if instruction.op0_register() == Register::SS => {
                return Self::LoadsSs;
            }
            Mnemonic::Pushf | Mnemonic::Pushfd | Mnemonic::Pushfq => return Self::Pushf,
            Mnemonic::Popf | Mnemonic::Popfd | Mnemonic::Popfq => return Self::Popf,
            Mnemonic::Int if instruction.immediate8() == 0x80 => return Self::Syscall,
            _ => {}
        }
        if instruction.is_privileged() {
            return Self::Trap;
        }
        match instruction.flow_control() {
            FlowControl::ConditionalBranch => Self::Conditional,
            _ if is_far(instruction.code()) => Self::Far,
            FlowControl::UnconditionalBranch => Self::Jump { indirect: false },
            FlowControl::IndirectBranch => Self::Jump { indirect: true },
            FlowControl::Call if mnemonic == Mnemonic::Call => Self::Call { indirect: false },
            FlowControl::IndirectCall => Self::Call { indirect: true },
            FlowControl::Return if mnemonic == Mnemonic::Ret => Self::Return,
            FlowControl::Interrupt | FlowControl::Exception => Self::Trap,
            _ if is_repeated_string(instruction) => Self::RepString,
            // vmcall and vmmcall, which hypervisors answer in user mode too, and tsx's xend and xabort, which
            // outside a transaction fault and do nothing.
            _ => Self::Plain,
        }
    }

    /// Whether block stepping has to take control at this instruction instead of reading past it in the image.
    ///
    /// # Signal safety
    /// A comparison.
    #[must_use]
    pub const fn ends_block(self) -> bool {
        !matches!(self, Self::Plain | Self::DescriptorStore | Self::LoadsSs | Self::Pushf | Self::Cpuid)
    }
}

/// Whether the code segment is loaded together with RIP.
const fn is_far(code: Code) -> bool {
    matches!(
        code,
        Code::Jmp_m1616
            | Code::Jmp_m1632
            | Code::Jmp_m1664
            | Code::Jmp_ptr1616
            | Code::Jmp_ptr1632
            | Code::Call_m1616
            | Code::Call_m1632
            | Code::Call_m1664
            | Code::Call_ptr1616
            | Code::Call_ptr1632
            | Code::Retfw
            | Code::Retfd
            | Code::Retfq
            | Code::Retfw_imm16
            | Code::Retfd_imm16
            | Code::Retfq_imm16
            | Code::Iretw
            | Code::Iretd
            | Code::Iretq
            | Code::Uiret
    )
}

/// A string instruction that a repeat prefix turns into a loop.
fn is_repeated_string(instruction: &Instruction) -> bool {
    instruction.is_string_instruction() && (instruction.has_rep_prefix() || instruction.has_repne_prefix())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::RuntimeAddr;
    use crate::image::decode::{Vendor, decode};

    fn class(bytes: &[u8]) -> Class {
        Class::of(&decode(bytes, RuntimeAddr(0x1000), Vendor::Intel).unwrap())
    }

    #[test]
    fn each_class_has_its_instructions() {
        let cases: &[(&[u8], Class, bool)] = &[
            (&[0x90], Class::Plain, false),
            (&[0xf3, 0x0f, 0x1e, 0xfa], Class::Plain, false),
            (&[0xa4], Class::Plain, false),
            (&[0x74, 0x02], Class::Conditional, true),
            (&[0x67, 0xe3, 0x02], Class::Conditional, true),
            (&[0xe0, 0x02], Class::Conditional, true),
            (&[0xeb, 0x02], Class::Jump { indirect: false }, true),
            (&[0xff, 0xe0], Class::Jump { indirect: true }, true),
            (&[0xe8, 0, 0, 0, 0], Class::Call { indirect: false }, true),
            (&[0xff, 0xd0], Class::Call { indirect: true }, true),
            (&[0xc3], Class::Return, true),
            (&[0xc2, 8, 0], Class::Return, true),
            (&[0x48, 0xcb], Class::Far, true),
            (&[0xff, 0x28], Class::Far, true),
            (&[0x48, 0xcf], Class::Far, true),
            (&[0x0f, 0x05], Class::Syscall, true),
            (&[0xcd, 0x80], Class::Syscall, true),
            (&[0x0f, 0x01, 0x0f], Class::DescriptorStore, false),
            (&[0xf3, 0xa4], Class::RepString, true),
            (&[0xf2, 0xae], Class::RepString, true),
            (&[0x8e, 0xd0], Class::LoadsSs, false),
            (&[0x0f, 0xb2, 0x00], Class::LoadsSs, false),
            (&[0x8e, 0xd8], Class::Plain, false),
            (&[0x9c], Class::Pushf, false),
            (&[0x66, 0x9d], Class::Popf, true),
            (&[0xcc], Class::Trap, true),
            (&[0xf1], Class::Trap, true),
            (&[0xcd, 0x20], Class::Trap, true),
            (&[0x0f, 0x0b], Class::Trap, true),
            (&[0xf4], Class::Trap, true),
            (&[0xc7, 0xf8, 0, 0, 0, 0], Class::Xbegin, true),
            (&[0x0f, 0xa2], Class::Cpuid, false),
        ];
        for &(bytes, expected, ends) in cases {
            assert_eq!(class(bytes), expected, "{bytes:02x?}");
            assert_eq!(expected.ends_block(), ends, "{expected:?}");
        }
    }
}
