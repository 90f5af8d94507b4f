//! One step as a JSON object, in the contract's order of fields.

use serde::Serialize;

use super::changes::{self, FLAGS_NAME};
use super::hex::{self, hex};
use super::json_registers::RegisterMap;
use super::names;
use super::rows::StepRow;
use super::source::{Frame, Location};
use super::syscall_result;
use crate::record::step::{Access, MemoryAccess, Syscall};
use crate::record::verdict::Verdict;

#[derive(Serialize)]
#[serde(tag = "type", rename = "step")]
pub struct StepLine<'a> {
    call: u64,
    n: u64,
    thread: u32,
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
    count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    regs: Option<RegisterMap>,
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
    verdict: &'static str,
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

#[derive(Serialize)]
struct MemoryObject {
    access: &'static str,
    address: String,
    size: u8,
    value: String,
}

impl MemoryObject {
    fn new(memory: &MemoryAccess) -> Self {
        let mut value = String::new();
        let bytes = memory.value.get(..usize::from(memory.size)).unwrap_or(&memory.value);
        hex::push_little_endian(&mut value, bytes);
        let access = match memory.access {
            Access::Read => "read",
            Access::Write => "write",
            Access::ReadWrite => "readwrite",
        };
        Self { access, address: hex(memory.address.0), size: memory.size, value }
    }
}

#[derive(Serialize)]
struct SyscallObject {
    number: u64,
    name: String,
    arguments: Vec<String>,
    /// Absent for a call that did not come back.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl SyscallObject {
    fn new(call: &Syscall) -> Self {
        let used = super::syscall_arity::arguments(call.number);
        let result = syscall_result::result(call);
        Self {
            number: call.number,
            name: names::syscall(call.number).into_owned(),
            arguments: call.arguments.iter().take(used).map(|&argument| hex(argument)).collect(),
            result: result.map(hex),
            error: result.and_then(names::error).map(std::borrow::Cow::into_owned),
        }
    }
}

impl<'a> StepLine<'a> {
    /// `memory` says whether the trace records operands: a row without any then states an empty list.
    pub fn new(row: &'a StepRow, memory: bool) -> Self {
        let (step, code) = (&row.entry, &*row.code);
        let module = code.place.module.as_ref();
        let symbol = code.place.symbol.as_ref();
        let regs = step.registers.as_ref().map(|change| {
            let general = changes::general(change).map(|(name, _, after)| (name, hex(after)));
            let flags = changes::flags(change).map(|rflags| (FLAGS_NAME, hex(rflags)));
            RegisterMap(general.chain(flags).collect())
        });
        let (late, expected) = match step.verdict {
            Verdict::Skid(late) => (Some(late), None),
            Verdict::Unexplained { expected } => (None, Some(hex(expected.0))),
            _ => (None, None),
        };
        Self {
            call: step.call,
            n: step.n,
            thread: step.thread,
            depth: step.depth,
            address: hex(step.address.0),
            module: module.map(|(name, _)| &**name),
            offset: module.map(|(_, offset)| hex(offset.0)),
            symbol: symbol.map(|(name, _)| &**name),
            symbol_raw: code.raw_symbol.as_deref(),
            symbol_offset: symbol.map(|(_, offset)| *offset),
            bytes: &code.hex,
            differs_from_file: step.differs_from_file,
            text: &code.text,
            count: step.count.unwrap_or(1),
            regs,
            memory: memory.then(|| step.memory.iter().map(MemoryObject::new).collect()),
            syscall: step.syscall.as_ref().map(SyscallObject::new),
            source: code.source.as_ref().and_then(|source| source.innermost()).map(Frame::file_line),
            inlined: code.source.as_deref().map(InlinedObject::all).unwrap_or_default(),
            verdict: names::verdict(step.verdict),
            late,
            expected,
        }
    }
}
