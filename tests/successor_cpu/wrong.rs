//! Successor functions with one mistake each, which the comparison has to find.

use crate::judge::Predict;
use crate::stepper::ChildMemory;
use iced_x86::{Code, FlowControl, Instruction};
use overstep::address::RuntimeAddr;
use overstep::image::class::Class;
use overstep::image::successor::{Successor, successor};
use overstep::registers::{RCX, RSP, Registers, flag};

/// Each mistake by name.
pub const ALL: [(&str, Predict); 7] = [
    ("conditional branches are never taken", never_taken),
    ("the overflow flag is not looked at", no_overflow),
    ("counters are always 64 bits wide", wide_counter),
    ("returns look one slot too high", wrong_slot),
    ("fs has no base", no_fs),
    ("indirect jumps fall through", falls_through),
    ("pushf faults", pushf_faults),
];

/// Codes worth more than their share of iced's list: whatever is not just another vector instruction.
pub fn is_interesting(code: Code) -> bool {
    let op = code.op_code();
    let mut made = Instruction::default();
    made.set_code(code);
    code.flow_control() != FlowControl::Next
        || made.is_string_instruction()
        || (made.stack_pointer_increment() != 0 && !code.is_privileged())
        || code == Code::Cpuid
        || op.op_kinds().is_empty() && !code.is_privileged()
}

fn never_taken(instruction: &Instruction, before: &Registers, memory: &ChildMemory) -> Successor {
    match Class::of(instruction) {
        Class::Conditional => Successor::One(RuntimeAddr(instruction.next_ip())),
        _ => successor(instruction, before, memory),
    }
}

fn no_overflow(instruction: &Instruction, before: &Registers, memory: &ChildMemory) -> Successor {
    let before = Registers { rflags: before.rflags & !flag::OF, ..*before };
    successor(instruction, &before, memory)
}

fn wide_counter(instruction: &Instruction, before: &Registers, memory: &ChildMemory) -> Successor {
    let mut before = *before;
    if before.general[RCX] >> 32 != 0 {
        before.general[RCX] = u64::MAX >> 1;
    }
    successor(instruction, &before, memory)
}

fn wrong_slot(instruction: &Instruction, before: &Registers, memory: &ChildMemory) -> Successor {
    let mut before = *before;
    if Class::of(instruction) == Class::Return {
        before.general[RSP] = before.general[RSP].wrapping_add(8);
    }
    successor(instruction, &before, memory)
}

fn no_fs(instruction: &Instruction, before: &Registers, memory: &ChildMemory) -> Successor {
    successor(instruction, before, &ChildMemory { fs_base: 0, ..*memory })
}

fn falls_through(instruction: &Instruction, before: &Registers, memory: &ChildMemory) -> Successor {
    match Class::of(instruction) {
        Class::Jump { indirect: true } => Successor::One(RuntimeAddr(instruction.next_ip())),
        _ => successor(instruction, before, memory),
    }
}

/// A fault is allowed after any `One`, so a wrong "goes on" cannot show; a wrong "faults" can.
fn pushf_faults(instruction: &Instruction, before: &Registers, memory: &ChildMemory) -> Successor {
    match successor(instruction, before, memory) {
        Successor::One(_) if Class::of(instruction) == Class::Pushf => Successor::Faults,
        other => other,
    }
}
