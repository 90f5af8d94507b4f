//! The memory that an instruction touches, listed without allocating.

use super::access_table;
use super::effective::{address, general_value};
use super::memory::Memory;
use crate::address::RuntimeAddr;
use crate::registers::{RAX, RBP, RSP, Registers};
use iced_x86::{Code, Instruction, MemorySize, Mnemonic, OpAccess, OpKind, Register};

/// Memory operands that an instruction can have: two of its own and the stack.
pub const CAPACITY: usize = 4;

/// How memory is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Access {
    Read = 1,
    Write = 2,
    ReadWrite = 3,
}

/// One place in memory that the instruction touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    pub access: Access,
    pub address: RuntimeAddr,
    /// In bytes, as [`size`] has it.
    pub size: u16,
}

/// Up to [`CAPACITY`] operands, in the order: explicit ones, then the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operands {
    slots: [Operand; CAPACITY],
    used: usize,
    complete: bool,
}

impl Operands {
    const NONE: Self = Self {
        slots: [Operand { access: Access::Read, address: RuntimeAddr(0), size: 0 }; CAPACITY],
        used: 0,
        complete: true,
    };

    #[must_use]
    pub fn as_slice(&self) -> &[Operand] {
        self.slots.get(..self.used).unwrap_or(&[])
    }

    /// `false` when the instruction touches memory that is not listed: the elements of gathers and scatters,
    /// whose addresses are in vector registers, or everything while the tables are not built.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.complete
    }

    fn push(&mut self, access: Access, address: RuntimeAddr, size: u16) {
        match self.slots.get_mut(self.used) {
            Some(slot) => {
                *slot = Operand { access, address, size };
                self.used = self.used.wrapping_add(1);
            }
            None => self.complete = false,
        }
    }
}

/// What `instruction` touches when `before` are the registers at its start. Of a repeated string instruction:
/// its first element, whether or not the count lets it run.
///
/// # Signal safety
/// Constant tables, the table that [`super::decode::warm_up`] builds, and `memory`'s segment bases.
#[must_use]
pub fn operands(instruction: &Instruction, before: &Registers, memory: &impl Memory) -> Operands {
    let mut found = Operands::NONE;
    explicit(instruction, before, memory, &mut found);
    implicit(instruction, before, &mut found);
    stack(instruction, before, &mut found);
    found
}

fn explicit(instruction: &Instruction, before: &Registers, memory: &impl Memory, found: &mut Operands) {
    for operand in 0..instruction.op_count() {
        let kind = instruction.op_kind(operand);
        if !is_memory(kind) {
            continue;
        }
        let access = match access_table::access(instruction.code(), operand as usize) {
            Some(OpAccess::Read | OpAccess::CondRead) => Access::Read,
            Some(OpAccess::Write | OpAccess::CondWrite) => Access::Write,
            Some(OpAccess::ReadWrite | OpAccess::ReadCondWrite) => Access::ReadWrite,
            // lea, prefetch and the long nops only compute the address.
            Some(OpAccess::None | OpAccess::NoMemAccess) => continue,
            None => {
                found.complete = false;
                continue;
            }
        };
        // Gathers have a vector register for index: no single address.
        match address(instruction, kind, before, memory) {
            Some(at) => {
                let at = at.plus(popped_first(instruction)).plus(into_bit_string(instruction, before));
                found.push(access, at, size(instruction));
            }
            None => found.complete = false,
        }
    }
}

/// What `pop [rsp+…]` adds: it computes its address after the pop (SDM volume 2, POP).
fn popped_first(instruction: &Instruction) -> u64 {
    match instruction.mnemonic() {
        Mnemonic::Pop if instruction.memory_base() == Register::RSP => {
            instruction.stack_pointer_increment() as u64
        }
        _ => 0,
    }
}

/// What the number of a bit adds that is in a register: `bt [m],r` and its kin take memory for a string of bits in words of the
/// operand's size, which reaches to both sides (SDM volume 2, BT; volume 1, section 4.6.4).
fn into_bit_string(instruction: &Instruction, before: &Registers) -> u64 {
    let tests_bit =
        matches!(instruction.mnemonic(), Mnemonic::Bt | Mnemonic::Bts | Mnemonic::Btr | Mnemonic::Btc);
    if !tests_bit || instruction.op1_kind() != OpKind::Register {
        return 0;
    }
    let bit = general_value(before, instruction.op1_register()).unwrap_or(0);
    let words = match instruction.memory_size().size() {
        2 => i64::from(bit as i16) >> 4 << 1,
        4 => i64::from(bit as i32) >> 5 << 2,
        _ => (bit as i64) >> 6 << 3,
    };
    words as u64
}

/// The size in bytes of an explicit operand; of `xsave` and its kin what they touch in any state of the CPU.
///
/// # Signal safety
/// A constant table.
#[must_use]
pub fn size(instruction: &Instruction) -> u16 {
    /// The legacy region and the header (SDM volume 1, section 13.4).
    const XSAVE_AREA: u16 = 512 + 64;
    match instruction.memory_size() {
        MemorySize::Xsave | MemorySize::Xsave64 => XSAVE_AREA,
        size => size.size() as u16,
    }
}

/// Instructions whose memory is named by no operand.
fn implicit(instruction: &Instruction, before: &Registers, found: &mut Operands) {
    match instruction.code() {
        // One cache line; 64 bytes on every CPU that has clzero.
        Code::Clzeroq => found.push(Access::Write, RuntimeAddr(before.general[RAX] & !63), 64),
        Code::Clzerod => {
            found.push(Access::Write, RuntimeAddr(before.general[RAX] & 0xffff_ffc0), 64);
        }
        _ => {}
    }
}

fn stack(instruction: &Instruction, before: &Registers, found: &mut Operands) {
    let moved = i64::from(instruction.stack_pointer_increment());
    let top = RuntimeAddr(before.general[RSP]);
    match instruction.mnemonic() {
        // The immediate of `ret n` is skipped, not read.
        Mnemonic::Ret | Mnemonic::Retf => {
            let released = if instruction.op_count() == 1 { i64::from(instruction.immediate16()) } else { 0 };
            found.push(Access::Read, top, moved.wrapping_sub(released) as u16);
        }
        Mnemonic::Leave => {
            let size = if instruction.code() == Code::Leavew { 2 } else { 8 };
            found.push(Access::Read, RuntimeAddr(before.general[RBP]), size);
        }
        // Of the frame only the saved rbp is written; nested levels copy outer frame pointers.
        Mnemonic::Enter => {
            let size: u16 = if instruction.code() == Code::Enterw_imm16_imm8 { 2 } else { 8 };
            found.push(Access::Write, top.plus(u64::from(size).wrapping_neg()), size);
            found.complete &= instruction.immediate8_2nd() & 31 == 0;
        }
        _ if moved < 0 => found.push(Access::Write, top.plus(moved as u64), moved.unsigned_abs() as u16),
        _ if moved > 0 => found.push(Access::Read, top, moved as u16),
        _ => {}
    }
}

const fn is_memory(kind: OpKind) -> bool {
    matches!(
        kind,
        OpKind::Memory
            | OpKind::MemorySegSI
            | OpKind::MemorySegESI
            | OpKind::MemorySegRSI
            | OpKind::MemorySegDI
            | OpKind::MemorySegEDI
            | OpKind::MemorySegRDI
            | OpKind::MemoryESDI
            | OpKind::MemoryESEDI
            | OpKind::MemoryESRDI
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::decode::{Vendor, decode, warm_up};
    use crate::image::memory::OwnMemory;
    use crate::registers::{RBX, RCX, RDI, RSI};

    /// (access, address, size) of each operand, with rax 0x100, rcx 3, rbx 0x200, rsp 0x8000, rbp 0x9000,
    /// rsi 0x300, rdi 0x400.
    fn of(bytes: &[u8]) -> Vec<(Access, u64, u16)> {
        let values =
            [(RAX, 0x100), (RCX, 3), (RBX, 0x200), (RSP, 0x8000), (RBP, 0x9000), (RSI, 0x300), (RDI, 0x400)];
        of_registers(bytes, &values)
    }

    fn of_registers(bytes: &[u8], values: &[(usize, u64)]) -> Vec<(Access, u64, u16)> {
        warm_up();
        let mut before = Registers::default();
        for (register, value) in values {
            before.general[*register] = *value;
        }
        let instruction = decode(bytes, RuntimeAddr(0x1000), Vendor::Intel).unwrap();
        let found = operands(&instruction, &before, &OwnMemory::new());
        found.as_slice().iter().map(|o| (o.access, o.address.0, o.size)).collect()
    }

    #[test]
    fn explicit_operands() {
        use Access::{Read, ReadWrite, Write};
        assert_eq!(of(&[0x48, 0x8b, 0x44, 0xcb, 0x08]), [(Read, 0x220, 8)]);
        assert_eq!(of(&[0x88, 0x0b]), [(Write, 0x200, 1)]);
        assert_eq!(of(&[0xf0, 0x01, 0x0b]), [(ReadWrite, 0x200, 4)]);
        assert_eq!(of(&[0x39, 0x0b]), [(Read, 0x200, 4)]);
        assert_eq!(of(&[0x0f, 0x11, 0x03]), [(Write, 0x200, 16)]);
        assert_eq!(of(&[0x0f, 0x13, 0x03]), [(Write, 0x200, 8)]);
        assert_eq!(of(&[0x0f, 0x94, 0x03]), [(Write, 0x200, 1)]);
        // xlatb: [rbx + al]
        assert_eq!(of(&[0xd7]), [(Read, 0x200, 1)]);
        // mov eax, [rip + 0x10]
        assert_eq!(of(&[0x8b, 0x05, 0x10, 0, 0, 0]), [(Read, 0x1016, 4)]);
    }

    #[test]
    fn addresses_alone_touch_nothing() {
        assert_eq!(of(&[0x48, 0x8d, 0x03]), []);
        assert_eq!(of(&[0x0f, 0x1f, 0x03]), []);
        assert_eq!(of(&[0x0f, 0x18, 0x0b]), []);
        assert_eq!(of(&[0x90]), []);
    }

    #[test]
    fn the_stack_is_an_operand() {
        use Access::{Read, Write};
        assert_eq!(of(&[0x50]), [(Write, 0x7ff8, 8)]);
        assert_eq!(of(&[0x66, 0x50]), [(Write, 0x7ffe, 2)]);
        assert_eq!(of(&[0x58]), [(Read, 0x8000, 8)]);
        assert_eq!(of(&[0xff, 0x33]), [(Read, 0x200, 8), (Write, 0x7ff8, 8)]);
        assert_eq!(of(&[0x8f, 0x04, 0x24]), [(Write, 0x8008, 8), (Read, 0x8000, 8)]);
        assert_eq!(of(&[0xe8, 0, 0, 0, 0]), [(Write, 0x7ff8, 8)]);
        assert_eq!(of(&[0xff, 0x54, 0x24, 0x10]), [(Read, 0x8010, 8), (Write, 0x7ff8, 8)]);
        assert_eq!(of(&[0xc3]), [(Read, 0x8000, 8)]);
        assert_eq!(of(&[0xc2, 0x20, 0]), [(Read, 0x8000, 8)]);
        assert_eq!(of(&[0xc9]), [(Read, 0x9000, 8)]);
        assert_eq!(of(&[0xc8, 0x20, 0, 0]), [(Write, 0x7ff8, 8)]);
        assert_eq!(of(&[0x9c]), [(Write, 0x7ff8, 8)]);
    }

    #[test]
    fn string_instructions_touch_their_first_element() {
        use Access::{Read, Write};
        assert_eq!(of(&[0xf3, 0x48, 0xa5]), [(Write, 0x400, 8), (Read, 0x300, 8)]);
        assert_eq!(of(&[0xaa]), [(Write, 0x400, 1)]);
        assert_eq!(of(&[0xad]), [(Read, 0x300, 4)]);
        assert_eq!(of(&[0xf2, 0xae]), [(Read, 0x400, 1)]);
        assert_eq!(of(&[0xa6]), [(Read, 0x300, 1), (Read, 0x400, 1)]);
    }

    #[test]
    fn a_bit_in_a_register_reaches_beyond_the_operand() {
        use Access::{Read, ReadWrite};
        let of = |bytes: &[u8], bit: i64| of_registers(bytes, &[(RBX, 0x200), (RAX, bit as u64)]);
        // bts [rbx],rax; bt [rbx],eax; bt [rbx],ax; bt qword ptr [rbx],70
        assert_eq!(of(&[0x48, 0x0f, 0xab, 0x03], 1000), [(ReadWrite, 0x200 + 120, 8)]);
        assert_eq!(of(&[0x48, 0x0f, 0xab, 0x03], 63), [(ReadWrite, 0x200, 8)]);
        assert_eq!(of(&[0x48, 0x0f, 0xa3, 0x03], -1), [(Read, 0x200 - 8, 8)]);
        assert_eq!(of(&[0x0f, 0xa3, 0x03], -33), [(Read, 0x200 - 8, 4)]);
        assert_eq!(of(&[0x0f, 0xa3, 0x03], 1 << 32 | 64), [(Read, 0x200 + 8, 4)], "32 bits of it");
        assert_eq!(of(&[0x66, 0x0f, 0xa3, 0x03], -9), [(Read, 0x200 - 2, 2)]);
        assert_eq!(of(&[0x48, 0x0f, 0xba, 0x23, 70], 1000), [(Read, 0x200, 8)], "an immediate stays inside");
    }

    #[test]
    fn the_state_of_the_cpu_has_a_size_in_any_case() {
        // fxsave, xrstor, xsave, xsave64, xsavec
        let cases: [(&[u8], u16); 5] = [
            (&[0x0f, 0xae, 0x03], 512),
            (&[0x0f, 0xae, 0x2b], 576),
            (&[0x0f, 0xae, 0x23], 576),
            (&[0x48, 0x0f, 0xae, 0x23], 576),
            (&[0x0f, 0xc7, 0x23], 576),
        ];
        for (bytes, size) in cases {
            assert!(matches!(of(bytes)[..], [(_, 0x200, found)] if found == size), "{bytes:x?}");
        }
    }

    #[test]
    fn a_gather_says_that_its_elements_are_missing() {
        warm_up();
        // vpgatherdd ymm1, [rax + ymm2*4], ymm3
        let bytes = [0xc4, 0xe2, 0x65, 0x90, 0x0c, 0x90];
        let gather = decode(&bytes, RuntimeAddr(0x1000), Vendor::Intel).unwrap();
        let found = operands(&gather, &Registers::default(), &OwnMemory::new());
        assert!(!found.is_complete());
        assert_eq!(found.as_slice(), []);
    }
}
