//! The JSON objects, field by field in the contract's order. What was not recorded is absent.

use serde::{Serialize, Serializer};

use super::changes::{self, FLAGS_NAME};
use super::hex::{self, hex};
use super::json::VERSION;
use super::names;
use super::rows::{MarkerRow, StepRow};
use crate::check::summary::Summary;
use crate::record::marker::Marker;
use crate::record::reader::Trace;
use crate::record::step::{Access, MemoryAccess, Syscall};
use crate::record::verdict::Verdict;
use crate::registers::GENERAL_NAMES;

#[derive(Serialize)]
#[serde(tag = "type", rename = "header")]
pub struct HeaderLine<'a> {
    version: u32,
    engine: &'static str,
    delivery: &'static str,
    step: &'static str,
    kernel: &'a str,
    cpu: &'a str,
    command: &'a [String],
    functions: &'a [String],
    modules: Vec<ModuleObject<'a>>,
    overstep: &'a str,
}

#[derive(Serialize)]
struct ModuleObject<'a> {
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    build_id: Option<String>,
    /// What the loader added to the addresses of the ELF file; `offset` in a step is its address minus this.
    base: String,
}

impl<'a> HeaderLine<'a> {
    pub fn new(trace: &'a Trace) -> Self {
        let header = &trace.header;
        let modules = trace.modules().iter().map(|module| ModuleObject {
            path: &module.path,
            build_id: Some(&module.build_id).filter(|id| !id.is_empty()).map(|id| {
                let mut text = String::new();
                hex::push_bytes(&mut text, id);
                text
            }),
            base: hex(module.bias.0),
        });
        Self {
            version: VERSION,
            engine: names::engine(header.engine),
            delivery: names::delivery(header.delivery),
            step: names::step_mode(header.step),
            kernel: &header.kernel,
            cpu: &header.cpu.name,
            command: &header.command,
            functions: &header.functions,
            modules: modules.collect(),
            overstep: &header.overstep,
        }
    }
}

/// Register names and values, in that order in the object.
struct RegisterMap(Vec<(&'static str, String)>);

impl Serialize for RegisterMap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

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
    verdict: &'static str,
    /// With `skid`: instructions that had retired too many.
    #[serde(skip_serializing_if = "Option::is_none")]
    late: Option<u32>,
    /// With `unexplained`: the address where the signal had to come.
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<String>,
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
    result: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl SyscallObject {
    fn new(call: &Syscall) -> Self {
        let used = super::syscall_arity::arguments(call.number);
        Self {
            number: call.number,
            name: names::syscall(call.number).into_owned(),
            arguments: call.arguments.iter().take(used).map(|&argument| hex(argument)).collect(),
            result: hex(call.result),
            error: names::error(call.result).map(std::borrow::Cow::into_owned),
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
        let (verdict, late, expected) = match step.verdict {
            Verdict::Exact => ("exact", None, None),
            Verdict::Zero => ("zero", None, None),
            Verdict::Skid(late) => ("skid", Some(late), None),
            Verdict::Reconstructed => ("reconstructed", None, None),
            Verdict::Unexplained { expected } => ("unexplained", None, Some(hex(expected.0))),
            Verdict::Lost => ("lost", None, None),
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
            symbol_offset: symbol.map(|(_, offset)| *offset),
            bytes: &code.hex,
            differs_from_file: step.differs_from_file,
            text: &code.text,
            count: step.count.unwrap_or(1),
            regs,
            memory: memory.then(|| step.memory.iter().map(MemoryObject::new).collect()),
            syscall: step.syscall.as_ref().map(SyscallObject::new),
            verdict,
            late,
            expected,
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "marker")]
pub struct MarkerLine<'a> {
    call: u64,
    after: u64,
    thread: u32,
    kind: &'static str,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    regs: Option<RegisterMap>,
}

impl<'a> MarkerLine<'a> {
    pub fn new(row: &'a MarkerRow) -> Self {
        let regs = match &row.entry.marker {
            Marker::Enter { registers, .. } => {
                let general =
                    GENERAL_NAMES.iter().zip(registers.general).map(|(name, value)| (*name, hex(value)));
                let others = [("rip", hex(registers.rip.0)), (FLAGS_NAME, hex(registers.rflags))];
                Some(general.chain(others).collect())
            }
            Marker::Leave { rax, xmm0 } => {
                let mut vector = String::new();
                hex::push_little_endian(&mut vector, xmm0);
                Some(vec![("rax", hex(*rax)), ("xmm0", vector)])
            }
            _ => None,
        };
        Self {
            call: row.entry.call,
            after: row.entry.after,
            thread: row.entry.thread,
            kind: row.kind,
            text: &row.text,
            regs: regs.map(RegisterMap),
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "summary")]
pub struct SummaryLine {
    entered: u64,
    traced: u64,
    steps: u64,
    exact: u64,
    zero: u64,
    skid: u64,
    reconstructed: u64,
    unexplained: u64,
    lost: u64,
    all_expected: bool,
    /// Three significant digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    miss_rate_95: Option<f64>,
}

impl SummaryLine {
    pub fn new(summary: &Summary) -> Self {
        Self {
            entered: summary.entered,
            traced: summary.traced,
            steps: summary.steps,
            exact: summary.exact,
            zero: summary.zero,
            skid: summary.skid,
            reconstructed: summary.reconstructed,
            unexplained: summary.unexplained,
            lost: summary.lost,
            all_expected: summary.all_expected(),
            miss_rate_95: summary.miss_rate_95().and_then(|rate| format!("{rate:.2e}").parse().ok()),
        }
    }
}
