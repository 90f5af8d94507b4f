//! What one recorded instruction had to be followed by, by the best evidence its row holds.

use iced_x86::{Instruction, Mnemonic};

use super::call_stack::CallStack;
use super::recorded_memory::RecordedMemory;
use crate::address::RuntimeAddr;
use crate::image::class::Class;
use crate::image::static_successor::{StaticSuccessors, static_successors};
use crate::image::successor::{Successor, successor};
use crate::record::step::MemoryAccess;
use crate::registers::Registers;

/// What an expectation rests on, from the strongest to none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The instruction alone, its registers, and the memory it read.
    State,
    /// For a return without recorded memory: what the matching call pushed.
    CallStack,
    /// Membership in the successors that the bytes allow.
    Bytes,
    /// Nothing recorded says where control had to go.
    None,
}

/// Where control may go after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expectation {
    /// Here and nowhere else.
    At(RuntimeAddr, Basis),
    /// To one of these.
    Among(StaticSuccessors),
    /// Anywhere, for all that the trace says.
    Open,
    /// Nowhere: the instruction cannot retire, and so has no row.
    NoRow,
}

impl Expectation {
    /// Whether `next` is allowed.
    #[must_use]
    pub fn allows(self, next: RuntimeAddr) -> bool {
        match self {
            Self::At(address, _) => address == next,
            Self::Among(successors) => successors.allow(next),
            Self::Open => true,
            Self::NoRow => false,
        }
    }

    /// What it rests on.
    #[must_use]
    pub const fn basis(self) -> Basis {
        match self {
            Self::At(_, basis) => basis,
            Self::Among(_) => Basis::Bytes,
            Self::Open | Self::NoRow => Basis::None,
        }
    }
}

/// What had to follow `instruction`.
///
/// `before` are the registers at its start where they are known, `memory` its recorded operands. Where both
/// together do not decide, `stack` confirms a return to the recorded `next`.
#[must_use]
pub fn expectation(
    instruction: &Instruction,
    before: Option<&Registers>,
    memory: &[MemoryAccess],
    stack: &CallStack,
    next: RuntimeAddr,
) -> Expectation {
    let statics = match static_successors(instruction) {
        StaticSuccessors::One(address) => return Expectation::At(address, Basis::State),
        // A row stands for all iterations.
        StaticSuccessors::Repeats { fall_through, .. } => return Expectation::At(fall_through, Basis::State),
        // `int3` and its kin are traps: they retire, and then the signal comes.
        StaticSuccessors::None if instruction.mnemonic() == Mnemonic::Ud2 => {
            return Expectation::NoRow;
        }
        StaticSuccessors::None => return Expectation::Open,
        other => other,
    };
    let Some(before) = before else { return without_state(statics) };
    match successor(instruction, before, &RecordedMemory(memory)) {
        Successor::One(address) | Successor::Far { to: address, .. } => {
            Expectation::At(address, Basis::State)
        }
        Successor::Unreadable if Class::of(instruction) == Class::Return => {
            match stack.return_address(before) {
                Some(address) if address == next => Expectation::At(address, Basis::CallStack),
                _ => Expectation::Open,
            }
        }
        Successor::Transfers(_) => Expectation::Open,
        Successor::Unreadable | Successor::Faults => without_state(statics),
    }
}

const fn without_state(statics: StaticSuccessors) -> Expectation {
    match statics {
        StaticSuccessors::Anywhere => Expectation::Open,
        some => Expectation::Among(some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::decode::{Vendor, decode};
    use crate::record::step::Access;
    use crate::registers::{RSP, flag};

    const HERE: RuntimeAddr = RuntimeAddr(0x1000);

    fn expect(bytes: &[u8], before: Option<&Registers>, memory: &[MemoryAccess]) -> Expectation {
        let instruction = decode(bytes, HERE, Vendor::Intel).unwrap();
        expectation(&instruction, before, memory, &CallStack::default(), RuntimeAddr(0x9000))
    }

    #[test]
    fn the_flags_decide_a_branch_and_without_them_its_two_ways() {
        let equal = Registers { rflags: flag::ZF, ..Registers::default() };
        let taken = Expectation::At(RuntimeAddr(0x1012), Basis::State);
        assert_eq!(expect(&[0x74, 0x10], Some(&equal), &[]), taken);
        let open = expect(&[0x74, 0x10], None, &[]);
        assert_eq!(open.basis(), Basis::Bytes);
        assert!(open.allows(RuntimeAddr(0x1002)) && open.allows(RuntimeAddr(0x1012)));
        assert!(!open.allows(RuntimeAddr(0x1003)));
    }

    #[test]
    fn a_return_needs_its_slot() {
        let mut before = Registers::default();
        before.general[RSP] = 0x7000;
        assert_eq!(expect(&[0xc3], Some(&before), &[]), Expectation::Open);
        let mut value = [0; 64];
        value[..8].copy_from_slice(&0x4444_u64.to_le_bytes());
        let slot = MemoryAccess { access: Access::Read, address: RuntimeAddr(0x7000), size: 8, value };
        let there = Expectation::At(RuntimeAddr(0x4444), Basis::State);
        assert_eq!(expect(&[0xc3], Some(&before), &[slot]), there);
    }

    #[test]
    fn ud2_has_no_row() {
        assert_eq!(expect(&[0x0f, 0x0b], None, &[]), Expectation::NoRow);
        assert_eq!(expect(&[0xcc], None, &[]), Expectation::Open, "int3 retires, then traps");
    }
}
