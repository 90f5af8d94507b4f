//! What additions and masks make of addresses.

use super::tag::{Tag, Value};
use crate::registers::flag;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Add,
    Subtract,
    And,
    /// Of both kinds.
    Or,
}

/// What is known of the two operands but their tags.
#[derive(Clone, Copy, Debug, Default)]
pub struct Operands {
    /// They are one register.
    pub same: bool,
    /// Both are addresses in one region, so that their difference is the same in every run.
    pub together: bool,
    /// The second one's number, sign-extended.
    pub second: Option<u64>,
}

/// How much of the flags every run has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flags {
    Known,
    /// Of the difference of two addresses of one region.
    Difference,
    /// Of an address: its sign, whether it is zero, and that nothing is carried.
    Address,
    /// Of two addresses in different regions.
    Unequal,
    Chance,
}

impl Flags {
    /// Those of the flags `written` that chance decides.
    #[must_use]
    pub const fn up_to_chance(self, written: u64) -> u64 {
        written
            & match self {
                Self::Known => 0,
                // Strings that the kernel puts on the stack need not keep their lowest digit.
                Self::Difference => flag::AF,
                Self::Address => flag::PF | flag::AF,
                Self::Unequal => !flag::ZF,
                Self::Chance => u64::MAX,
            }
    }
}

/// The result and its flags.
#[must_use]
pub fn result(operation: Operation, one: &Value, other: &Value, operands: Operands) -> (Value, Flags) {
    use Operation::{Add, And, Or, Subtract};
    let size = one.size();
    if one.is_number() && other.is_number() {
        return (Value::number(size), Flags::Known);
    }
    let whole = (one.as_address(), other.as_address());
    if operands.same {
        return match operation {
            Subtract => (Value::number(size), Flags::Known),
            And | Or => (*one, if whole.0.is_some() { Flags::Address } else { Flags::Chance }),
            Add => (Value::of(one.joined(), size), Flags::Chance),
        };
    }
    // A number on the left of a mask or a sum means the same on the right.
    if operation != Subtract && one.is_number() && operation == Add && whole.1.is_some() {
        return (*other, Flags::Address);
    }
    let number = other.is_number();
    match (operation, whole) {
        (Add | Subtract, (Some(_), None)) if number => return (*one, Flags::Address),
        (Subtract, (Some(_), Some(_))) if operands.together => {
            return (Value::number(size), Flags::Difference);
        }
        (Subtract, (Some(_), Some(_))) => return (Value::of(Tag::Outside, size), Flags::Unequal),
        (Subtract, (None, Some(_))) if one.is_number() => {
            return (Value::of(Tag::Outside, size), Flags::Address);
        }
        _ => {}
    }
    let (Some(mask), Some(alignment)) = (operands.second.filter(|_| number), one.low_part()) else {
        return (Value::of(one.joined().join(other.joined()), size), Flags::Chance);
    };
    let low = alignment.low_bits();
    match operation {
        And if mask & !low == 0 => (Value::number(size), Flags::Known),
        And if !mask & !low == 0 && whole.0.is_some() => (*one, Flags::Address),
        // An address still, but nobody knows how far off.
        And if whole.0.is_some() && (mask as i64) < 0 => (Value::of(Tag::Moved, size), Flags::Chance),
        Or if mask & !low == 0 && whole.0.is_some() => (*one, Flags::Address),
        _ => (Value::of(Tag::Outside, size), Flags::Chance),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tag::Alignment;
    use super::*;

    const STACK: Alignment = Alignment::Paragraph;

    fn with(operation: Operation, one: Value, second: u64) -> (Value, Flags) {
        let operands = Operands { second: Some(second), ..Operands::default() };
        result(operation, &one, &Value::number(one.size()), operands)
    }

    #[test]
    fn masks_of_addresses() {
        let stack = Value::address(STACK);
        assert_eq!(with(Operation::And, stack, 15), (Value::number(8), Flags::Known), "alignment");
        assert_eq!(with(Operation::And, stack.part(0, 4), 15).0, Value::number(4), "of its lower half");
        assert_eq!(with(Operation::And, stack, (-16_i64) as u64), (stack, Flags::Address));
        assert!(!with(Operation::And, stack, (-256_i64) as u64).0.is_shown());
        assert!(with(Operation::And, Value::address(Alignment::Page), (-256_i64) as u64).0.is_shown());
        assert!(!with(Operation::Or, stack, 0x55).0.is_shown());
        assert_eq!(with(Operation::Or, stack, 5).0, stack);
        assert!(with(Operation::And, stack, 0xff).0.is_outside());
    }

    #[test]
    fn sums_and_differences_of_addresses() {
        let (stack, number) = (Value::address(STACK), Value::number(8));
        let none = Operands::default();
        assert_eq!(result(Operation::Add, &number, &stack, none), (stack, Flags::Address));
        assert!(result(Operation::Add, &stack, &stack, none).0.is_outside());
        assert!(result(Operation::Subtract, &number, &stack, none).0.is_outside());
        let together = Operands { together: true, ..none };
        assert_eq!(result(Operation::Subtract, &stack, &stack, together), (number, Flags::Difference));
        assert!(result(Operation::Subtract, &stack, &stack, none).0.is_outside());
        let same = Operands { same: true, ..none };
        assert_eq!(result(Operation::Subtract, &Value::of(Tag::Garbage, 8), &number, same).0, number);
    }
}
