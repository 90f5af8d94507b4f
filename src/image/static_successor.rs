//! Where control can go after an instruction when nothing is known about registers or memory.

use super::class::Class;
use crate::address::RuntimeAddr;
use iced_x86::{Instruction, Mnemonic};

/// The successors that the bytes alone allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StaticSuccessors {
    One(RuntimeAddr),
    /// A conditional branch.
    Two {
        taken: RuntimeAddr,
        fall_through: RuntimeAddr,
    },
    /// Back to the instruction itself (an iteration of a repeated string instruction) or past it.
    Repeats {
        itself: RuntimeAddr,
        fall_through: RuntimeAddr,
    },
    /// A return, an indirect or far transfer: any address.
    Anywhere,
    /// The instruction never retires.
    None,
}

impl StaticSuccessors {
    /// Whether control may go to `address`.
    #[must_use]
    pub fn allow(self, address: RuntimeAddr) -> bool {
        match self {
            Self::One(only) => address == only,
            Self::Two { taken: one, fall_through: two }
            | Self::Repeats { itself: one, fall_through: two } => address == one || address == two,
            Self::Anywhere => true,
            Self::None => false,
        }
    }
}

/// The successors of `instruction` that need no registers.
///
/// # Signal safety
/// Constant tables.
#[must_use]
pub fn static_successors(instruction: &Instruction) -> StaticSuccessors {
    let next = RuntimeAddr(instruction.next_ip());
    let target = RuntimeAddr(instruction.near_branch_target());
    match Class::of(instruction) {
        // Back from the kernel behind the vdso's own `sysenter`, wherever it is.
        Class::Syscall if instruction.mnemonic() == Mnemonic::Sysenter => StaticSuccessors::Anywhere,
        Class::Plain
        | Class::DescriptorStore
        | Class::LoadsSs
        | Class::Pushf
        | Class::Popf
        | Class::Cpuid
        | Class::Syscall => StaticSuccessors::One(next),
        Class::RepString => {
            StaticSuccessors::Repeats { itself: RuntimeAddr(instruction.ip()), fall_through: next }
        }
        Class::Conditional | Class::Xbegin => StaticSuccessors::Two { taken: target, fall_through: next },
        Class::Jump { indirect: false } | Class::Call { indirect: false } => StaticSuccessors::One(target),
        Class::Jump { .. } | Class::Call { .. } | Class::Return | Class::Far => StaticSuccessors::Anywhere,
        Class::Trap => StaticSuccessors::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::decode::{Vendor, decode};

    fn of(bytes: &[u8]) -> StaticSuccessors {
        static_successors(&decode(bytes, RuntimeAddr(0x1000), Vendor::Intel).unwrap())
    }

    #[test]
    fn membership_is_as_narrow_as_the_bytes_allow() {
        assert_eq!(of(&[0x90]), StaticSuccessors::One(RuntimeAddr(0x1001)));
        let conditional = of(&[0x75, 0x10]);
        assert!(conditional.allow(RuntimeAddr(0x1012)) && conditional.allow(RuntimeAddr(0x1002)));
        assert!(!conditional.allow(RuntimeAddr(0x1003)));
        let repeated = of(&[0xf3, 0xa4]);
        assert!(repeated.allow(RuntimeAddr(0x1000)) && repeated.allow(RuntimeAddr(0x1002)));
        assert!(!repeated.allow(RuntimeAddr(0x1001)));
        assert_eq!(of(&[0xe8, 0x10, 0, 0, 0]), StaticSuccessors::One(RuntimeAddr(0x1015)));
        assert_eq!(of(&[0xc3]), StaticSuccessors::Anywhere);
        assert!(!of(&[0x0f, 0x0b]).allow(RuntimeAddr(0x1002)));
    }
}
