//! Return addresses, as the traced calls pushed them.

use std::collections::VecDeque;

use iced_x86::Instruction;

use crate::address::RuntimeAddr;
use crate::image::class::Class;
use crate::registers::{RSP, Registers};

/// Frames remembered; of a deeper recursion the outermost are forgotten.
const DEEPEST: usize = 1 << 16;

/// Where each open call's return address lies and what it is, for traces that record no memory.
///
/// A program may overwrite a return address, so a frame can confirm where a return went and never refute it.
#[derive(Debug, Default)]
pub struct CallStack {
    /// Slot address and return address, the innermost last.
    frames: VecDeque<(RuntimeAddr, RuntimeAddr)>,
}

impl CallStack {
    /// What the innermost open call pushed at the slot that a return would read.
    #[must_use]
    pub fn return_address(&self, before: &Registers) -> Option<RuntimeAddr> {
        let slot = RuntimeAddr(before.general[RSP]);
        self.frames.iter().rev().find(|(at, _)| *at >= slot).filter(|(at, _)| *at == slot).map(|(_, to)| *to)
    }

    /// Follows one instruction that retired.
    pub fn follow(&mut self, instruction: &Instruction, before: &Registers) {
        let rsp = RuntimeAddr(before.general[RSP]);
        if let Class::Call { .. } = Class::of(instruction) {
            let slot = RuntimeAddr(rsp.0.wrapping_sub(8));
            self.drop_below(slot.plus(1));
            if self.frames.len() == DEEPEST {
                self.frames.pop_front();
            }
            self.frames.push_back((slot, RuntimeAddr(instruction.next_ip())));
        } else if Class::of(instruction) == Class::Return {
            self.drop_below(rsp.plus(1));
        }
    }

    /// Forgets frames whose slot lies below `address`: their calls are over.
    fn drop_below(&mut self, address: RuntimeAddr) {
        while self.frames.back().is_some_and(|(slot, _)| *slot < address) {
            self.frames.pop_back();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::decode::{Vendor, decode};

    fn at(rsp: u64) -> Registers {
        let mut registers = Registers::default();
        registers.general[RSP] = rsp;
        registers
    }

    #[test]
    fn a_return_finds_its_own_call() {
        let call = |ip| decode(&[0xe8, 0, 0, 0, 0], RuntimeAddr(ip), Vendor::Intel).unwrap();
        let ret = decode(&[0xc3], RuntimeAddr(0x2000), Vendor::Intel).unwrap();
        let mut stack = CallStack::default();
        stack.follow(&call(0x1000), &at(0x7008));
        stack.follow(&call(0x1100), &at(0x6008));
        assert_eq!(stack.return_address(&at(0x6000)), Some(RuntimeAddr(0x1105)));
        assert_eq!(stack.return_address(&at(0x6ff8)), None, "nobody pushed that slot");
        stack.follow(&ret, &at(0x6000));
        assert_eq!(stack.return_address(&at(0x7000)), Some(RuntimeAddr(0x1005)));
        stack.follow(&ret, &at(0x7000));
        assert_eq!(stack.return_address(&at(0x7000)), None, "returned already");
    }
}
