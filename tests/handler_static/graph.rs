//! From a function to everything it can call.

use std::collections::{BTreeMap, BTreeSet};

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, OpKind, Register};

use crate::object::{Object, Target};

/// What a walk found.
#[derive(Default)]
pub struct Reach {
    /// Functions that were walked through.
    pub walked: BTreeSet<String>,
    /// Functions of the same object that are not overstep's, with the functions that lead to them.
    pub foreign: BTreeMap<String, BTreeSet<String>>,
    /// `function -> name` for what another object has.
    pub external: BTreeSet<String>,
    /// Functions that use thread-local storage.
    pub thread_local: BTreeSet<String>,
    /// `function at address` for what is no instruction.
    pub undecoded: BTreeSet<String>,
    pub instructions: usize,
}

/// Walks from the function at `entry`.
pub fn reach(object: &Object, entry: u64) -> Reach {
    let mut found = Reach::default();
    let mut open = vec![entry];
    let mut seen = BTreeSet::from([entry]);
    while let Some(function) = open.pop() {
        let (start, end, name) =
            object.function_at(function).unwrap_or_else(|| panic!("{function:#x} is in no function"));
        found.walked.insert(name.to_owned());
        for instruction in Decoder::with_ip(64, object.code(start..end), start, DecoderOptions::NONE) {
            found.instructions += 1;
            if instruction.is_invalid() {
                found.undecoded.insert(format!("{name} at {:#x}", instruction.ip()));
            }
            if instruction.segment_prefix() == Register::FS {
                found.thread_local.insert(name.to_owned());
            }
            for target in targets(object, &instruction, start..end) {
                match target {
                    Target::External(other) => {
                        found.external.insert(format!("{name} -> {other}"));
                    }
                    Target::Local(address) => {
                        let (start, _, other) = object
                            .function_at(address)
                            .unwrap_or_else(|| panic!("{name} calls {address:#x}, which is in no function"));
                        if !is_own(other) {
                            found.foreign.entry(other.to_owned()).or_default().insert(name.to_owned());
                        }
                        if !is_end(other) && seen.insert(start) {
                            open.push(start);
                        }
                    }
                }
            }
        }
    }
    found
}

/// `<overstep::… as …>::…` is ours, too.
fn is_own(name: &str) -> bool {
    name.trim_start_matches('<').starts_with("overstep")
}

/// Where the walk does not go in: the decoder, whose tables lead everywhere, and what never returns.
fn is_end(name: &str) -> bool {
    name.trim_start_matches('<').starts_with("iced_x86::") || name.starts_with("core::panicking::")
}

/// Functions whose address this instruction calls, jumps to or takes.
///
/// A call through a register is found where the register gets its address: `lea` of code, or a load from a pointer
/// that the loader fills with one.
fn targets(object: &Object, instruction: &Instruction, own: std::ops::Range<u64>) -> Vec<Target> {
    let mut targets = Vec::new();
    let direct = matches!(instruction.op0_kind(), OpKind::NearBranch64);
    if direct && !own.contains(&instruction.near_branch_target()) {
        targets.push(through_plt(object, instruction.near_branch_target()));
    }
    if instruction.is_ip_rel_memory_operand() {
        let address = instruction.ip_rel_memory_address();
        let taken = instruction.mnemonic() == iced_x86::Mnemonic::Lea;
        match object.pointer(address) {
            _ if taken
                && object.is_code(address)
                && object.function_at(address).is_some_and(|f| f.0 == address) =>
            {
                targets.push(Target::Local(address));
            }
            Some(Target::Local(code)) if object.is_code(*code) => targets.push(Target::Local(*code)),
            Some(Target::External(name)) => targets.push(Target::External(name.clone())),
            _ => {}
        }
    }
    targets
}

/// A stub in .plt (in no function by its symbol) stands for what it jumps to.
fn through_plt(object: &Object, target: u64) -> Target {
    if object.function_at(target).is_some() {
        return Target::Local(target);
    }
    let stub = Decoder::with_ip(64, object.code(target..target + 16), target, DecoderOptions::NONE);
    let jump = stub
        .into_iter()
        .take(3)
        .find(|instruction| instruction.flow_control() == FlowControl::IndirectBranch);
    jump.and_then(|jump| object.pointer(jump.ip_rel_memory_address()).cloned())
        .unwrap_or(Target::Local(target))
}
