//! One step as a JSON object, in the contract's order of fields.

use serde::Serialize;

use super::changes::{self, FLAGS_NAME};
use super::compat_call;
use super::hex::{self, hex};
use super::json_registers::{FlagMap, RegisterMap};
use super::names;
use super::operand_extent::Extent;
use super::rows::StepRow;
use super::source::{Frame, Location};
use super::stable::{MASKED, StableAccess, StableRow};
use super::syscall_result;
use crate::record::step::{Access, MemoryAccess, Syscall};
use crate::record::verdict::Verdict;

#[derive(Serialize)]
#[serde(tag = "type", rename = "step")]
pub struct StepLine<'a> {
    call: u64,
    n: u64,
    thread: u64,
    depth: u32,
    address: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    module: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    symbol: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    symbol_raw: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    symbol_offset: Option<u64>,
    bytes: &'a str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    differs_from_file: bool,
    text: &'a str,
    /// Where it leads to the code that the loader chose for a function.
    #[serde(skip_serializing_if = "Option::is_none")]
    chosen: Option<&'a str>,
    count: Count,
    /// Registers at its start that the lines before do not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<RegisterMap>,
    #[serde(skip_serializing_if = "Option::is_none")]
    regs: Option<RegisterMap>,
    /// Of stable rows, which know of some flags only.
    #[serde(skip_serializing_if = "Option::is_none")]
    flags: Option<FlagMap>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<Vec<MemoryObject>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    syscall: Option<SyscallObject>,
    /// File and line.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    /// Where the function of that line was inlined, from the innermost call outward.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    inlined: Vec<InlinedObject<'a>>,
    /// Absent in a stable row that is as expected, since how it is known depends on the engine.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<&'static str>,
    /// With `skid`: instructions that had retired too many.
    #[serde(skip_serializing_if = "Option::is_none")]
    late: Option<u32>,
    /// With `unexplained`: the address where the signal had to come.
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<String>,
}

#[derive(Serialize)]
struct InlinedObject<'a> {
    /// The function that was inlined.
    #[serde(skip_serializing_if = "Option::is_none")]
    function: Option<&'a str>,
    /// Where it was called.
    source: String,
}

impl<'a> InlinedObject<'a> {
    fn all(location: &'a Location) -> Vec<Self> {
        let calls = location.frames.windows(2);
        calls.map(|two| Self { function: two[0].function.as_deref(), source: two[1].file_line() }).collect()
    }
}

/// How often an instruction was repeated.
#[derive(Serialize)]
#[serde(untagged)]
enum Count {
    Known(u64),
    Masked(&'static str),
}

#[derive(Serialize)]
struct MemoryObject {
    access: &'static str,
    address: String,
    size: u8,
    value: String,
    /// A mask decides which elements of it the instruction touched.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    masked: bool,
    /// Bytes that the instruction touched there, where those are more than `size`.
    #[serde(skip_serializing_if = "Option::is_none")]
    whole: Option<u64>,
}

impl MemoryObject {
    fn new(memory: &MemoryAccess, extent: Extent) -> Self {
        let mut value = String::new();
        let bytes = memory.value.get(..usize::from(memory.size)).unwrap_or(&memory.value);
        hex::push_little_endian(&mut value, bytes);
        let size = memory.size;
        let (masked, whole) = (extent.masked, extent.beyond(size));
        Self { access: word(memory.access), address: hex(memory.address.0), size, value, masked, whole }
    }

    fn stable(memory: &StableAccess, extent: Extent) -> Self {
        let StableAccess { access, size, address, value } = memory;
        Self {
            access: word(*access),
            address: address.clone(),
            size: *size,
            value: value.clone(),
            masked: extent.masked,
            whole: extent.beyond(*size),
        }
    }
}

const fn word(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::Write => "write",
        Access::ReadWrite => "readwrite",
    }
}

#[derive(Serialize)]
struct SyscallObject {
    number: u64,
    name: String,
    /// Of a call by another table than that of 64-bit programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    abi: Option<&'static str>,
    arguments: Vec<String>,
    /// Absent for a call that did not come back.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl SyscallObject {
    /// As every run has it, with the arguments `stable` in words: what the kernel answered may differ.
    fn stable(call: &Syscall, stable: &[String]) -> Self {
        let result = syscall_result::result(call).map(|_| MASKED.to_owned());
        Self { arguments: stable.to_vec(), result, error: None, ..Self::new(call) }
    }

    fn new(call: &Syscall) -> Self {
        let used = super::syscall_arity::arguments(call.number);
        let result = syscall_result::result(call);
        Self {
            number: compat_call::number(call.number).unwrap_or(call.number),
            abi: compat_call::number(call.number).map(|_| "i386"),
            name: names::syscall(call.number).into_owned(),
            arguments: call.arguments.iter().take(used).map(|&argument| hex(argument)).collect(),
            result: result.map(hex),
            error: result.and_then(names::error).map(std::borrow::Cow::into_owned),
        }
    }
}

impl<'a> StepLine<'a> {
    /// `unseen` are registers at its start that no line before has told. `memory` says whether the trace records operands: a
    /// row without any then states an empty list.
    pub fn new(row: &'a StepRow, unseen: Option<RegisterMap>, memory: bool) -> Self {
        let (step, code) = (&row.entry, &*row.code);
        let module = code.place.module.as_ref();
        let symbol = code.place.symbol.as_ref();
        let stable = row.stable.as_deref();
        let regs = step.registers.as_ref().map(|change| {
            if let Some(stable) = stable {
                let after = stable.registers.iter().map(|(name, _, after)| (*name, after.clone()));
                return RegisterMap(after.collect());
            }
            let general = changes::general(change).map(|(name, _, after)| (name, hex(after)));
            let flags = changes::flags(change).map(|rflags| (FLAGS_NAME, hex(rflags)));
            RegisterMap(general.chain(flags).collect())
        });
        let flags = stable.filter(|it| !it.flags.is_empty()).map(|it| FlagMap(it.flags.clone()));
        let extent = Extent::of(row);
        let own = || step.memory.iter().map(|it| MemoryObject::new(it, extent)).collect();
        let words = |it: &StableRow| it.memory.iter().map(|it| MemoryObject::stable(it, extent)).collect();
        let (late, expected) = match step.verdict {
            Verdict::Skid(late) => (Some(late), None),
            Verdict::Unexplained { expected } if stable.is_none() => (None, Some(hex(expected.0))),
            _ => (None, None),
        };
        Self {
            call: step.call,
            n: step.n,
            thread: row.thread(),
            depth: step.depth,
            address: match stable {
                None => hex(step.address.0),
                Some(stable) if stable.address.is_empty() => code.place.in_module(step.address),
                Some(stable) => stable.address.clone(),
            },
            module: module.map(|(name, _)| &**name),
            offset: module.map(|(_, offset)| hex(offset.0)),
            symbol: symbol.map(|(name, _)| &**name),
            symbol_raw: code.raw_symbol.as_deref(),
            symbol_offset: symbol.map(|(_, offset)| *offset),
            bytes: &code.hex,
            differs_from_file: step.differs_from_file,
            text: stable.and_then(|it| it.instruction.as_deref()).unwrap_or(&code.text),
            chosen: row.chosen.as_deref(),
            count: match stable {
                Some(stable) if stable.unknown_count => Count::Masked(MASKED),
                _ => Count::Known(step.count.unwrap_or(1)),
            },
            before: unseen.filter(|_| stable.is_none()),
            regs,
            flags,
            memory: memory.then(|| stable.map_or_else(own, words)),
            syscall: step.syscall.as_ref().map(|call| {
                let words = stable.and_then(|it| it.syscall.as_deref());
                words.map_or_else(|| SyscallObject::new(call), |words| SyscallObject::stable(call, words))
            }),
            source: code.source.as_ref().and_then(|source| source.innermost()).map(Frame::file_line),
            inlined: code.source.as_deref().map(InlinedObject::all).unwrap_or_default(),
            verdict: match step.verdict {
                Verdict::Exact | Verdict::Reconstructed if stable.is_some() => None,
                verdict => Some(names::verdict(verdict)),
            },
            late,
            expected,
        }
    }
}
