//! Which argument registers a call makes use of: those that are read before they are written.

use std::collections::HashMap;

use iced_x86::{Instruction, InstructionInfoFactory, OpAccess, Register};

use crate::address::RuntimeAddr;
use crate::check::vendor::vendor_of;
use crate::image::decode::decode;
use crate::listing::by_call::call_of;
use crate::listing::compat_call;
use crate::listing::place::file_name;
use crate::listing::syscall_arity;
use crate::record::marker::Marker;
use crate::record::reader::{CodeBytes, Entry, MarkerEntry, StepEntry, Trace};
use crate::record::step::Syscall;
use crate::registers::{ARGUMENTS, SYSCALL_ARGUMENTS};

/// By call, the argument registers that it read first.
pub fn used(trace: &Trace) -> HashMap<u64, Vec<usize>> {
    let vendor = vendor_of(trace);
    let mut factory = InstructionInfoFactory::new();
    let mut effects: HashMap<(u64, CodeBytes), (u16, u16)> = HashMap::new();
    let mut calls: HashMap<u64, Seen> = HashMap::new();
    for &thread in trace.threads() {
        for entry in trace.entries(thread) {
            let seen = calls.entry(call_of(&entry)).or_default();
            match &entry {
                _ if seen.is_settled() => {}
                // The dynamic linker keeps all of them for the function that it looks up, which may take fewer.
                Entry::Step(step) if seen.began && !seen.in_linker && is_linker(trace, step.address) => {}
                Entry::Step(step @ StepEntry { address, bytes, syscall, .. }) => {
                    if !std::mem::replace(&mut seen.began, true) {
                        seen.in_linker = is_linker(trace, *address);
                    }
                    let read =
                        || decode(bytes, *address, vendor).map_or((0, 0), |it| effect(&it, &mut factory));
                    let (mut read, written) = *effects.entry((address.0, *bytes)).or_insert_with(read);
                    read |= match compat_call::of(step) {
                        Some(call) => syscall_arguments(&call, compat_call::ARGUMENTS),
                        None => syscall.as_ref().map_or(0, |call| syscall_arguments(call, SYSCALL_ARGUMENTS)),
                    };
                    seen.used |= read & !seen.settled;
                    seen.settled |= read | written;
                }
                // What ran unseen may have read any of them, and has left something else in them.
                Entry::Marker(MarkerEntry { marker: Marker::Native { .. }, .. }) => seen.settled = u16::MAX,
                Entry::Marker(_) => {}
            }
        }
    }
    let registers = |seen: Seen| ARGUMENTS.into_iter().filter(|index| seen.used >> index & 1 != 0).collect();
    calls.into_iter().map(|(call, seen)| (call, registers(seen))).collect()
}

fn is_linker(trace: &Trace, address: RuntimeAddr) -> bool {
    trace.module(address).is_some_and(|module| file_name(&module.path).starts_with("ld-linux"))
}

/// The registers that the kernel takes the call's arguments from; of a call without a name nobody knows how many.
fn syscall_arguments(call: &Syscall, registers: [usize; 6]) -> u16 {
    let count = syscall_arity::known(call.number).unwrap_or(0);
    registers.iter().take(count).fold(0, |all, index| all | 1 << index)
}

#[derive(Clone, Copy, Default)]
struct Seen {
    used: u16,
    /// Read or written already.
    settled: u16,
    /// A row of it was seen.
    began: bool,
    /// The traced function is the dynamic linker's own.
    in_linker: bool,
}

impl Seen {
    fn is_settled(self) -> bool {
        ARGUMENTS.iter().all(|index| self.settled >> index & 1 != 0)
    }
}

/// General registers that the instruction reads, and those that it writes, a bit each.
fn effect(instruction: &Instruction, factory: &mut InstructionInfoFactory) -> (u16, u16) {
    let (mut read, mut written) = (0, 0);
    for it in factory.info(instruction).used_registers() {
        if !it.register().is_gpr() {
            continue;
        }
        let bit = 1 << (it.register().full_register() as usize - Register::RAX as usize);
        match it.access() {
            OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite => {
                read |= bit;
            }
            OpAccess::Write | OpAccess::CondWrite => written |= bit,
            _ => {}
        }
    }
    (read, written)
}
