//! Which bytes of registers, flags and memory another run would not repeat.

use iced_x86::Register;

use super::operand_kinds::{general, vector};
use super::shadow::Shadow;
use super::tag::{Alignment, Tag, Value, WIDEST};
use crate::registers::{R8, R9, R10, R11, RAX, RCX, RDI, RDX, RSI, RSP};

/// What a function may leave in any state (System V ABI, figure 3.4).
const SCRATCH: [usize; 9] = [RAX, RCX, RDX, RSI, RDI, R8, R9, R10, R11];

const VECTORS: usize = 32;

/// The registers of one thread.
#[derive(Clone, Debug)]
pub struct Registers {
    general: Vec<Value>,
    vectors: Vec<Value>,
    /// The opmask registers of AVX-512.
    masks: [Tag; 8],
    /// The x87 and MMX registers together: they turn, and a slot is hard to tell from another.
    x87: Tag,
    /// Something in this call wrote the register that floating-point values come back in.
    has_vector_result: bool,
    /// RFLAGS bits whose values chance decides, or the ISA leaves undefined.
    pub flags: u64,
}

impl Default for Registers {
    fn default() -> Self {
        let mut general = vec![Value::of(Tag::Garbage, 8); 16];
        general[RSP] = Value::address(Alignment::Paragraph);
        let vectors = vec![Value::number(WIDEST); VECTORS];
        let masks = [Tag::Number; 8];
        Self { general, vectors, masks, x87: Tag::Number, has_vector_result: false, flags: u64::MAX }
    }
}

impl Registers {
    #[must_use]
    pub fn general(&self, index: usize) -> &Value {
        &self.general[index]
    }

    /// The stack pointer is an address, whatever becomes of it.
    pub fn set_general(&mut self, index: usize, value: Value) {
        if index != RSP {
            self.general[index] = value;
        }
    }

    /// What the stack pointer is an address of.
    pub fn set_stack_pointer(&mut self, alignment: Alignment) {
        self.general[RSP] = Value::address(alignment);
    }

    /// Of each general register, what the address in it is made of.
    #[must_use]
    pub fn addresses(&self) -> [Option<Alignment>; 16] {
        std::array::from_fn(|index| self.general[index].as_address())
    }

    /// General registers whose values cannot be shown, a bit each.
    #[must_use]
    pub fn masked(&self) -> u16 {
        let bit = |(index, value): (usize, &Value)| u16::from(!value.is_shown()) << index;
        self.general.iter().enumerate().map(bit).fold(0, |all, bit| all | bit)
    }

    /// General registers that hold what came from outside or was moved by chance, a bit each: no address that a run can name.
    #[must_use]
    pub fn unnamed(&self) -> u16 {
        let is_unnamed =
            |value: &Value| value.tags().iter().any(|tag| matches!(tag, Tag::Outside | Tag::Moved));
        let bit = |(index, value): (usize, &Value)| u16::from(is_unnamed(value)) << index;
        self.general.iter().enumerate().map(bit).fold(0, |all, bit| all | bit)
    }

    /// Of any register what an instruction reads there; what is not followed is a number.
    #[must_use]
    pub fn read(&self, register: Register) -> Value {
        let size = register.size();
        if let Some(index) = general(register) {
            self.general[index].part(first_byte(register), size)
        } else if let Some(index) = vector(register) {
            self.vectors[index].part(0, size)
        } else if register.is_k() {
            Value::of(self.masks[register.number() & 7], 8)
        } else if register.is_st() || register.is_mm() {
            Value::of(self.x87, size)
        } else {
            Value::number(size)
        }
    }

    /// Writes a register: its upper half becomes zero with 32 bits of a general one, the rest of a vector register where the
    /// instruction is `vex`-encoded (SDM volume 1, sections 3.4.1.1 and 14.1.3).
    pub fn write(&mut self, register: Register, value: &Value, vex: bool) {
        let size = register.size();
        let value = value.part(0, size);
        if let Some(index) = general(register) {
            let whole = if size == 4 { Value::number(8) } else { self.general[index] };
            self.set_general(index, whole.with(first_byte(register), &value));
        } else if let Some(index) = vector(register) {
            let whole = if vex { Value::number(WIDEST) } else { self.vectors[index] };
            self.vectors[index] = whole.with(0, &value);
            self.has_vector_result |= index == 0;
        } else if register.is_k() {
            self.masks[register.number() & 7] = value.joined();
        } else if register.is_st() || register.is_mm() {
            self.x87 = self.x87.join(value.joined());
        }
    }

    /// Control was out of scope: what a function may overwrite holds nobody knows what.
    pub fn ran_natively(&mut self) {
        for register in SCRATCH {
            self.general[register] = Value::of(Tag::Garbage, 8);
        }
        self.vectors = vec![Value::of(Tag::Garbage, WIDEST); VECTORS];
        self.vectors[0] = Value::number(WIDEST);
        (self.masks, self.x87) = ([Tag::Garbage; 8], Tag::Number);
        self.flags = u64::MAX;
    }

    /// The result of a function with a floating-point value (System V ABI, 3.2.3).
    pub fn set_vector_result(&mut self, tag: Tag) {
        self.vectors[0] = Value::of(tag, WIDEST);
        self.has_vector_result = true;
    }

    /// The floating-point argument that a vector register holds, of at most eight (System V ABI, 3.2.3).
    #[must_use]
    pub fn vector_argument(&self, index: usize) -> Value {
        self.vectors.get(index).map_or(Value::number(8), |value| value.part(0, 8))
    }

    /// Whether a floating-point result can be shown: what a caller left there is none.
    #[must_use]
    pub fn shows_vector_result(&self) -> bool {
        self.has_vector_result && self.vectors[0].part(0, 8).is_number()
    }
}

const fn first_byte(register: Register) -> usize {
    matches!(register, Register::AH | Register::BH | Register::CH | Register::DH) as usize
}

/// The state of one thread.
#[derive(Clone, Debug, Default)]
pub struct Taint {
    pub registers: Registers,
    pub memory: Shadow,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_registers() {
        let mut registers = Registers::default();
        registers.set_general(RDI, Value::address(Alignment::Page));
        assert_eq!(registers.masked() >> RDI & 1, 0);
        registers.write(Register::DIL, &Value::number(1), false);
        assert_eq!(registers.masked() >> RDI & 1, 1, "the low byte of an address overwritten");
        registers.write(Register::EDI, &Value::number(4), false);
        assert_eq!(registers.masked() >> RDI & 1, 0, "the upper half is zero");
        registers.write(Register::CH, &Value::number(1), false);
        assert!(registers.read(Register::CH).is_number());
        assert!(!registers.read(Register::CX).is_number());
        registers.write(Register::XMM3, &Value::of(Tag::Outside, 16), true);
        registers.write(Register::RSP, &Value::of(Tag::Outside, 8), false);
        assert!(registers.read(Register::RSP).is_shown());
        assert!(registers.read(Register::YMM3).is_outside());
        assert!(registers.read(Register::YMM3).part(16, 16).is_number());
    }
}
