//! Where control goes after an instruction, exactly as the CPU decides it.

use super::class::Class;
use super::effective::{address, general_value};
use super::memory::{Memory, read_value};
use crate::address::RuntimeAddr;
use crate::registers::{RAX, RCX, RSP, Registers, flag};
use iced_x86::{Code, ConditionCode, Instruction, Mnemonic, OpKind};

/// The code segment selector of 64-bit user code (Linux `arch/x86/include/asm/segment.h`, `__USER_CS`).
pub const USER_CS: u16 = 0x33;

/// Where control goes once the instruction has retired. It says nothing about whether the instruction will:
/// a load may fault whatever its successor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Successor {
    /// To this one address. A repeated string instruction counts as done with its last iteration.
    One(RuntimeAddr),
    /// To this address in the code segment of this selector; one other than [`USER_CS`] ends 64-bit code.
    Far { to: RuntimeAddr, selector: u16 },
    /// Where the kernel decides.
    Transfers(Transfer),
    /// Nowhere: the instruction raises an exception of its own and does not retire.
    Faults,
    /// The target is in memory that cannot be read.
    Unreadable,
}

/// The transfers whose target only the kernel knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// `rt_sigreturn`: all registers come from the signal frame.
    Sigreturn,
    /// `exit` and `exit_group` do not come back.
    Exit,
    /// `sysenter` returns to the vdso's landing pad.
    Sysenter,
    /// `uiret`, the return from a user interrupt.
    UserInterrupt,
}

/// Where control goes from `instruction` when `before` are the registers at its start.
///
/// # Signal safety
/// Constant tables, arithmetic, and what `memory` does for returns and branches through memory.
#[must_use]
pub fn successor(instruction: &Instruction, before: &Registers, memory: &impl Memory) -> Successor {
    let next = Successor::One(RuntimeAddr(instruction.next_ip()));
    match Class::of(instruction) {
        Class::Plain
        | Class::DescriptorStore
        | Class::RepString
        | Class::LoadsSs
        | Class::Pushf
        | Class::Popf
        | Class::Cpuid => next,
        Class::Conditional if taken(instruction, before) => branch_target(instruction),
        Class::Conditional => next,
        // A breakpoint signal aborts any transaction, so the fallback address is where a traced program goes on.
        Class::Xbegin | Class::Jump { indirect: false } | Class::Call { indirect: false } => {
            branch_target(instruction)
        }
        Class::Jump { indirect: true } | Class::Call { indirect: true } => {
            indirect_target(instruction, before, memory)
        }
        Class::Return => return_target(instruction, before, memory),
        Class::Far => far_target(instruction, before, memory),
        Class::Syscall => system_call(instruction, before).map_or(next, Successor::Transfers),
        Class::Trap => Successor::Faults,
    }
}

/// Whether a conditional branch is taken.
///
/// # Signal safety
/// Arithmetic.
#[must_use]
pub fn taken(instruction: &Instruction, before: &Registers) -> bool {
    let zero = before.rflags & flag::ZF != 0;
    match instruction.mnemonic() {
        Mnemonic::Jrcxz | Mnemonic::Jecxz | Mnemonic::Jcxz => counter(instruction, before) == 0,
        Mnemonic::Loop => counter(instruction, before) != 1,
        Mnemonic::Loope => counter(instruction, before) != 1 && zero,
        Mnemonic::Loopne => counter(instruction, before) != 1 && !zero,
        _ => condition_holds(instruction.condition_code(), before.rflags),
    }
}

/// RCX or ECX, as the address size says. `loop` counts down before it looks, so 1 there means "last round".
fn counter(instruction: &Instruction, before: &Registers) -> u64 {
    let rcx = before.general[RCX];
    match instruction.code() {
        Code::Jecxz_rel8_64
        | Code::Jecxz_rel8_32
        | Code::Jecxz_rel8_16
        | Code::Loop_rel8_64_ECX
        | Code::Loop_rel8_16_ECX
        | Code::Loope_rel8_64_ECX
        | Code::Loope_rel8_16_ECX
        | Code::Loopne_rel8_64_ECX
        | Code::Loopne_rel8_16_ECX => rcx & 0xffff_ffff,
        _ => rcx,
    }
}

/// Whether RFLAGS satisfies `condition` (SDM volume 1, appendix B, "EFLAGS condition codes").
///
/// # Signal safety
/// Arithmetic.
#[must_use]
pub const fn condition_holds(condition: ConditionCode, rflags: u64) -> bool {
    let carry = rflags & flag::CF != 0;
    let zero = rflags & flag::ZF != 0;
    let sign = rflags & flag::SF != 0;
    let overflow = rflags & flag::OF != 0;
    let parity = rflags & flag::PF != 0;
    match condition {
        ConditionCode::None => true,
        ConditionCode::o => overflow,
        ConditionCode::no => !overflow,
        ConditionCode::b => carry,
        ConditionCode::ae => !carry,
        ConditionCode::e => zero,
        ConditionCode::ne => !zero,
        ConditionCode::be => carry || zero,
        ConditionCode::a => !carry && !zero,
        ConditionCode::s => sign,
        ConditionCode::ns => !sign,
        ConditionCode::p => parity,
        ConditionCode::np => !parity,
        ConditionCode::l => sign != overflow,
        ConditionCode::ge => sign == overflow,
        ConditionCode::le => zero || sign != overflow,
        ConditionCode::g => !zero && sign == overflow,
    }
}

/// The target that a direct near branch encodes; 16 bits wide for AMD's 66-prefixed ones.
fn branch_target(instruction: &Instruction) -> Successor {
    Successor::One(RuntimeAddr(instruction.near_branch_target()))
}

fn indirect_target(instruction: &Instruction, before: &Registers, memory: &impl Memory) -> Successor {
    let narrow = matches!(instruction.code(), Code::Jmp_rm16 | Code::Call_rm16);
    let kind = instruction.op0_kind();
    let target = if kind == OpKind::Register {
        general_value(before, instruction.op0_register())
    } else {
        address(instruction, kind, before, memory)
            .and_then(|at| if narrow { read_value::<2>(memory, at) } else { read_value::<8>(memory, at) })
    };
    target.map_or(Successor::Unreadable, |to| Successor::One(RuntimeAddr(to)))
}

fn return_target(instruction: &Instruction, before: &Registers, memory: &impl Memory) -> Successor {
    let slot = RuntimeAddr(before.general[RSP]);
    let target = match instruction.code() {
        Code::Retnw | Code::Retnw_imm16 => read_value::<2>(memory, slot),
        _ => read_value::<8>(memory, slot),
    };
    target.map_or(Successor::Unreadable, |to| Successor::One(RuntimeAddr(to)))
}

/// Offset first, selector behind it: in memory for jumps and calls (m16:16, m16:32, m16:64), in stack slots of
/// the operand size for returns.
fn far_target(instruction: &Instruction, before: &Registers, memory: &impl Memory) -> Successor {
    let code = instruction.code();
    let stack = Some(RuntimeAddr(before.general[RSP]));
    let (at, offset_size) = match code {
        Code::Uiret => return Successor::Transfers(Transfer::UserInterrupt),
        Code::Retfw | Code::Retfw_imm16 | Code::Iretw => (stack, 2),
        Code::Retfd | Code::Retfd_imm16 | Code::Iretd => (stack, 4),
        Code::Retfq | Code::Retfq_imm16 | Code::Iretq => (stack, 8),
        _ => {
            let size = match code {
                Code::Jmp_m1616 | Code::Call_m1616 => 2,
                Code::Jmp_m1632 | Code::Call_m1632 => 4,
                _ => 8,
            };
            (address(instruction, instruction.op0_kind(), before, memory), size)
        }
    };
    let Some(at) = at else { return Successor::Unreadable };
    let offset = match offset_size {
        2 => read_value::<2>(memory, at),
        4 => read_value::<4>(memory, at),
        _ => read_value::<8>(memory, at),
    };
    match (offset, read_value::<2>(memory, at.plus(offset_size))) {
        (Some(to), Some(selector)) => Successor::Far { to: RuntimeAddr(to), selector: selector as u16 },
        _ => Successor::Unreadable,
    }
}

/// The calls that do not come back to the instruction after them. `execve` does when it fails.
fn system_call(instruction: &Instruction, before: &Registers) -> Option<Transfer> {
    match instruction.mnemonic() {
        Mnemonic::Sysenter => Some(Transfer::Sysenter),
        // `int 0x80` has the numbers of the 32-bit table (Linux `arch/x86/entry/syscalls/syscall_32.tbl`).
        Mnemonic::Int => match before.general[RAX] & 0xffff_ffff {
            119 | 173 => Some(Transfer::Sigreturn),
            1 | 252 => Some(Transfer::Exit),
            _ => None,
        },
        // The kernel takes the number from eax, sign-extended (Linux `arch/x86/entry/common.c`).
        _ => match i64::from(before.general[RAX] as i32) {
            libc::SYS_rt_sigreturn => Some(Transfer::Sigreturn),
            libc::SYS_exit | libc::SYS_exit_group => Some(Transfer::Exit),
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::decode::{Vendor, decode};
    use crate::registers::{RBX, RDI};

    const IP: RuntimeAddr = RuntimeAddr(0x40_1000);
    const STACK: u64 = 0x7000;

    /// 64 bytes at [`STACK`] holding 0x11, 0x12, …; nothing else is readable. fs is 0x6f00 and gs is 0x6e00.
    struct Small;

    impl Memory for Small {
        fn read(&self, at: RuntimeAddr, into: &mut [u8]) -> bool {
            let inside = at.0 >= STACK && at.0 + into.len() as u64 <= STACK + 64;
            for (i, byte) in into.iter_mut().enumerate() {
                *byte = (at.0 - STACK.min(at.0)) as u8 + i as u8 + 0x11;
            }
            inside
        }
        fn fs_base(&self) -> u64 {
            0x6f00
        }
        fn gs_base(&self) -> u64 {
            0x6e00
        }
    }

    fn after_on(vendor: Vendor, bytes: &[u8], change: impl FnOnce(&mut Registers)) -> Successor {
        let mut before = Registers { rip: IP, ..Registers::default() };
        before.general[RSP] = STACK;
        change(&mut before);
        successor(&decode(bytes, IP, vendor).unwrap(), &before, &Small)
    }

    fn after(bytes: &[u8], change: impl FnOnce(&mut Registers)) -> Successor {
        after_on(Vendor::Intel, bytes, change)
    }

    fn to(address: u64) -> Successor {
        Successor::One(RuntimeAddr(address))
    }

    #[test]
    fn conditions_follow_the_flags() {
        let je = [0x74, 0x10];
        assert_eq!(after(&je, |r| r.rflags = flag::ZF), to(0x40_1012));
        assert_eq!(after(&je, |r| r.rflags = !flag::ZF), to(0x40_1002));
        // jl: sign differs from overflow.
        assert_eq!(after(&[0x7c, 0x10], |r| r.rflags = flag::SF), to(0x40_1012));
        assert_eq!(after(&[0x7c, 0x10], |r| r.rflags = flag::SF | flag::OF), to(0x40_1002));
    }

    #[test]
    fn counters_are_as_wide_as_the_address_size() {
        let high = 1 << 32;
        let jrcxz = [0xe3, 0x10];
        let jecxz = [0x67, 0xe3, 0x10];
        assert_eq!(after(&jrcxz, |r| r.general[RCX] = high), to(0x40_1002));
        assert_eq!(after(&jecxz, |r| r.general[RCX] = high), to(0x40_1013));
        let looping = [0xe2, 0x10];
        let looping32 = [0x67, 0xe2, 0x10];
        assert_eq!(after(&looping, |r| r.general[RCX] = high + 1), to(0x40_1012));
        assert_eq!(after(&looping32, |r| r.general[RCX] = high + 1), to(0x40_1003));
        assert_eq!(after(&looping, |r| r.general[RCX] = 0), to(0x40_1012));
        // loope needs ZF as well.
        assert_eq!(after(&[0xe1, 0x10], |r| r.general[RCX] = 5), to(0x40_1002));
    }

    #[test]
    fn returns_read_the_stack() {
        assert_eq!(after(&[0xc3], |_| ()), to(0x1817_1615_1413_1211));
        assert_eq!(after(&[0xc2, 0x20, 0], |_| ()), to(0x1817_1615_1413_1211));
        assert_eq!(after(&[0xc3], |r| r.general[RSP] = 8), Successor::Unreadable);
        assert_eq!(after_on(Vendor::Amd, &[0x66, 0xc3], |_| ()), to(0x1211));
    }

    #[test]
    fn indirect_branches_go_through_register_memory_and_segment() {
        assert_eq!(after(&[0xff, 0xe0], |r| r.general[RAX] = 0x1234), to(0x1234));
        assert_eq!(after(&[0xff, 0x17], |r| r.general[RDI] = STACK + 1), to(0x1918_1716_1514_1312));
        // jmp fs:[rbx]
        assert_eq!(after(&[0x64, 0xff, 0x23], |r| r.general[RBX] = 0x102), to(0x1a19_1817_1615_1413));
        // jmp [ebx]: the upper half of rbx does not count.
        let low = STACK | 5 << 32;
        assert_eq!(after(&[0x67, 0xff, 0x23], |r| r.general[RBX] = low), to(0x1817_1615_1413_1211));
        // jmp [rip - 0x3fa004]: 0x401006 - 0x3fa004 is 0x7002.
        assert_eq!(after(&[0xff, 0x25, 0xfc, 0x5f, 0xc0, 0xff], |_| ()), to(0x1a19_1817_1615_1413));
        assert_eq!(after(&[0xff, 0x27], |_| ()), Successor::Unreadable);
    }

    #[test]
    fn direct_branches_depend_on_the_vendor() {
        let bytes = [0x66, 0xe9, 0x10, 0x00, 0x00, 0x00];
        assert_eq!(after_on(Vendor::Intel, &bytes, |_| ()), to(0x40_1016));
        assert_eq!(after_on(Vendor::Amd, &bytes, |_| ()), to(0x1014));
    }

    #[test]
    fn far_transfers_name_their_code_segment() {
        let far = |to, selector| Successor::Far { to: RuntimeAddr(to), selector };
        assert_eq!(after(&[0xcb], |_| ()), far(0x1413_1211, 0x1615));
        assert_eq!(after(&[0x48, 0xcf], |_| ()), far(0x1817_1615_1413_1211, 0x1a19));
        assert_eq!(after(&[0xff, 0x2f], |r| r.general[RDI] = STACK), far(0x1413_1211, 0x1615));
    }

    #[test]
    fn system_calls_come_back_unless_the_kernel_goes_elsewhere() {
        let syscall = [0x0f, 0x05];
        assert_eq!(after(&syscall, |r| r.general[RAX] = 1), to(0x40_1002));
        assert_eq!(after(&syscall, |r| r.general[RAX] = 15), Successor::Transfers(Transfer::Sigreturn));
        assert_eq!(after(&syscall, |r| r.general[RAX] = 231), Successor::Transfers(Transfer::Exit));
        assert_eq!(after(&[0xcd, 0x80], |r| r.general[RAX] = 1), Successor::Transfers(Transfer::Exit));
    }

    #[test]
    fn exceptions_have_no_successor_and_repeats_have_the_next_instruction() {
        for bytes in [&[0xcc][..], &[0x0f, 0x0b], &[0xcd, 0x21], &[0xf4], &[0xf1], &[0xe4, 0x60]] {
            assert_eq!(after(bytes, |_| ()), Successor::Faults, "{bytes:02x?}");
        }
        assert_eq!(after(&[0xf3, 0xaa], |r| r.general[RCX] = 9), to(0x40_1002));
        assert_eq!(after(&[0xc7, 0xf8, 0x10, 0, 0, 0], |_| ()), to(0x40_1016));
    }
}
