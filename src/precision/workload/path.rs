//! The instructions of a workload's loop in the order they retire, by decoding its bytes.

use std::collections::HashMap;

use iced_x86::{FlowControl, Instruction, Mnemonic};

use super::Workload;
use crate::address::RuntimeAddr;
use crate::image::class::Class;
use crate::image::decode::{Vendor, decode};

/// Longer loops than any workload has.
const LIMIT: usize = 256;

/// Bytes of the instructions that disarm the event: two moves, an immediate move, `syscall`.
const DISARMING: u64 = 15;

/// One iteration of a loop, from its first instruction to the branch back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    instructions: Vec<RuntimeAddr>,
    place: HashMap<RuntimeAddr, usize>,
    subject: usize,
    /// Positions of the branches.
    branches: Vec<u64>,
    /// The first instruction behind the loop.
    end: RuntimeAddr,
}

impl Path {
    /// Walks `workload`'s loop. Its conditional branches go one way only, by convention: `je` forward is taken, `jne`
    /// forward is not, and the last instruction branches back.
    #[must_use]
    pub fn of(workload: &Workload) -> Self {
        Self::walk(workload.code(), workload.start, workload.subject)
    }

    fn walk(code: &[u8], start: RuntimeAddr, subject: RuntimeAddr) -> Self {
        let vendor = Vendor::of_this_cpu();
        let mut instructions = Vec::new();
        let (mut returns, mut branches) = (Vec::new(), Vec::new());
        let mut at = start;
        while instructions.len() < LIMIT {
            let bytes = code.get(at.since(start) as usize..).unwrap_or_default();
            let Ok(instruction) = decode(bytes, at, vendor) else { break };
            if instruction.flow_control() != FlowControl::Next && !is_syscall(&instruction) {
                branches.push(instructions.len() as u64);
            }
            instructions.push(at);
            at = next(&instruction, start, &mut returns);
            if at == start {
                break;
            }
        }
        let place: HashMap<_, _> = instructions.iter().enumerate().map(|(n, at)| (*at, n)).collect();
        let subject = place.get(&subject).copied().unwrap_or(0);
        Self { instructions, place, subject, branches, end: start.plus(code.len() as u64) }
    }

    /// Instructions in one iteration.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.instructions.len() as u64
    }

    /// The first instruction behind the loop, to which the last pass falls through.
    #[must_use]
    pub fn end(&self) -> RuntimeAddr {
        self.end
    }

    /// Whether `address` is in what disarms the event behind the loop, which an event counts as well.
    #[must_use]
    pub fn is_disarming(&self, address: RuntimeAddr) -> bool {
        (1..=DISARMING).contains(&address.since(self.end))
    }

    /// Positions of what a counter of branches counts.
    #[must_use]
    pub fn branches(&self) -> &[u64] {
        &self.branches
    }

    /// The position of the instruction at `address` in the iteration, from 0.
    #[must_use]
    pub fn position(&self, address: RuntimeAddr) -> Option<u64> {
        self.place.get(&address).map(|place| *place as u64)
    }

    /// The position of the instruction of interest.
    #[must_use]
    pub fn subject(&self) -> u64 {
        self.subject as u64
    }

    /// How many instructions control went past the one of interest to stand at `address`, going round at most once;
    /// `None` for an address that is not in the loop.
    #[must_use]
    pub fn beyond_subject(&self, address: RuntimeAddr) -> Option<u64> {
        let place = self.position(address)?;
        Some((place + self.length() - self.subject()) % self.length())
    }
}

/// A `syscall` is no branch of the program's.
fn is_syscall(instruction: &Instruction) -> bool {
    Class::of(instruction) == Class::Syscall
}

/// Where control goes behind `instruction`.
fn next(instruction: &Instruction, start: RuntimeAddr, returns: &mut Vec<RuntimeAddr>) -> RuntimeAddr {
    let through = RuntimeAddr(instruction.next_ip());
    let target = RuntimeAddr(instruction.near_branch_target());
    match Class::of(instruction) {
        Class::Conditional if target == start || instruction.mnemonic() == Mnemonic::Je => target,
        Class::Jump { indirect: false } => target,
        Class::Call { indirect: false } => {
            returns.push(through);
            target
        }
        Class::Return => returns.pop().unwrap_or(through),
        _ => through,
    }
}

#[cfg(test)]
mod tests {
    use super::super::class;
    use super::*;

    #[test]
    fn every_loop_is_walked_to_its_end() {
        for class in class::CLASSES.iter().chain(&class::FAULTING) {
            let workload = (class.workload)();
            let path = Path::of(&workload);
            assert!((4..32).contains(&path.length()), "{}: {}", workload.name, path.length());
            assert_eq!(path.beyond_subject(workload.subject), Some(0), "{}", workload.name);
        }
    }

    #[test]
    fn calls_and_branches_are_followed() {
        let call = class::call();
        let path = Path::of(&call);
        // nop, call, ret, jmp, nop, dec, jnz: the ret stands behind the jmp in memory.
        assert_eq!((path.length(), path.subject()), (7, 1));
        assert_eq!(path.beyond_subject(call.subject.plus(7)), Some(1), "ret");
        assert_eq!(path.beyond_subject(call.subject.plus(5)), Some(2), "jmp");
        assert_eq!(path.branches(), [1, 2, 3, 6]);
        let taken = Path::of(&class::taken());
        assert_eq!(taken.length(), 6, "the nop behind a taken branch does not run");
        assert_eq!(Path::of(&class::not_taken()).length(), 7);
    }

    #[test]
    fn distance_goes_round_the_loop() {
        let workload = class::nop();
        let path = Path::of(&workload);
        assert_eq!(path.beyond_subject(workload.subject.plus(1)), Some(1));
        assert_eq!(path.beyond_subject(workload.start), Some(path.length() - 1));
        assert_eq!(path.beyond_subject(RuntimeAddr(1)), None);
    }
}
