//! One row or marker of a trace, split into what no two runs may differ in and the values it carries.

use overstep::address::RuntimeAddr;
use overstep::image::decode::{Vendor, decode};
use overstep::record::header::DecoderVendor;
use overstep::record::marker::Marker;
use overstep::record::reader::{Entry, StepEntry, Trace};
use overstep::record::step::Access;
use overstep::registers::{GENERAL_NAMES, Registers};

/// What every run of the program in every way must have alike: all of a row but thread, verdict and values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    Step {
        call: u64,
        n: u64,
        depth: u32,
        address: RuntimeAddr,
        bytes: Vec<u8>,
        differs_from_file: bool,
        next: RuntimeAddr,
        count: Option<u64>,
        /// Of a system call.
        number: Option<u64>,
    },
    Marker {
        call: u64,
        after: u64,
        what: String,
    },
}

/// Values by name. Which there are depends on the way of stepping; those that both sides have are compared.
pub type Values = Vec<(ValueName, u64)>;

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ValueName {
    Before(&'static str),
    After(&'static str),
    SyscallArgument(usize),
    SyscallResult,
    /// Of the operand with this number.
    MemoryAddress(usize),
    /// Operand, place in it in units of 8 bytes.
    MemoryValue(usize, usize),
    /// The kind and size of an operand.
    MemoryAccess(usize),
    Xmm0(usize),
}

impl Shape {
    pub fn of(trace: &Trace, entry: &Entry) -> Self {
        match entry {
            Entry::Step(step) => Self::Step {
                call: step.call,
                n: step.n,
                depth: step.depth,
                address: step.address,
                bytes: instruction(trace, step).to_vec(),
                differs_from_file: step.differs_from_file,
                next: step.next,
                count: step.count,
                number: step.syscall.map(|syscall| syscall.number),
            },
            Entry::Marker(entry) => {
                let what = match entry.marker {
                    Marker::Enter { function, .. } => format!("Enter function {function}"),
                    Marker::Leave { .. } => "Leave".to_owned(),
                    Marker::Fork { .. } => "Fork".to_owned(),
                    other => format!("{other:?}"),
                };
                Self::Marker { call: entry.call, after: entry.after, what }
            }
        }
    }

    /// The same, as if it were of the first call: for threads, whose calls are numbered as they come.
    pub fn of_any_call(mut self) -> Self {
        match &mut self {
            Self::Step { call, .. } | Self::Marker { call, .. } => *call = 1,
        }
        self
    }
}

/// Names a row by its instruction, or a marker by its kind, for messages.
pub fn brief(trace: &Trace, entry: &Entry) -> String {
    match entry {
        Entry::Step(step) => {
            let place = trace
                .symbol(step.address)
                .map_or_else(String::new, |hit| format!(" ({}+{:#x})", hit.symbol.name, hit.offset));
            let text = decode(&step.bytes, step.address, vendor(trace))
                .map_or_else(|error| error.to_string(), |instruction| instruction.to_string());
            format!("call {} row {} `{text}` at {}{place}", step.call, step.n, step.address)
        }
        Entry::Marker(_) => format!("{:?}", Shape::of(trace, entry)),
    }
}

/// The bytes of the row's instruction. A row has up to fifteen, whatever follows the instruction included.
pub fn instruction<'a>(trace: &Trace, step: &'a StepEntry) -> &'a [u8] {
    let length =
        decode(&step.bytes, step.address, vendor(trace)).map_or(step.bytes.len(), |decoded| decoded.len());
    &step.bytes[..length]
}

fn vendor(trace: &Trace) -> Vendor {
    match trace.header.decoder {
        DecoderVendor::Intel => Vendor::Intel,
        DecoderVendor::Amd => Vendor::Amd,
    }
}

/// The values of a row or marker. Of rows from block stepping, `before` is that of the block: left out.
pub fn values(entry: &Entry, blocks: bool, out: &mut Values) {
    out.clear();
    match entry {
        Entry::Step(step) => {
            if let Some(change) = &step.registers {
                if !blocks {
                    registers(&change.before, ValueName::Before, out);
                }
                registers(&change.after, ValueName::After, out);
            }
            if let Some(syscall) = &step.syscall {
                let arguments = syscall.arguments.iter().enumerate();
                out.extend(arguments.map(|(index, value)| (ValueName::SyscallArgument(index), *value)));
                out.push((ValueName::SyscallResult, syscall.result));
            }
            memory(step, out);
        }
        Entry::Marker(entry) => match &entry.marker {
            Marker::Enter { registers: at_entry, .. } => registers(at_entry, ValueName::Before, out),
            Marker::Leave { rax, xmm0 } => {
                out.push((ValueName::After("rax"), *rax));
                out.extend(words(xmm0).map(|(index, word)| (ValueName::Xmm0(index), word)));
            }
            _ => {}
        },
    }
}

fn registers(registers: &Registers, name: fn(&'static str) -> ValueName, out: &mut Values) {
    let general = GENERAL_NAMES.into_iter().zip(registers.general);
    out.extend(general.map(|(register, value)| (name(register), value)));
    out.push((name("rip"), registers.rip.0));
    out.push((name("rflags"), registers.rflags));
}

fn memory(step: &StepEntry, out: &mut Values) {
    for (operand, access) in step.memory.iter().enumerate() {
        let kind = match access.access {
            Access::Read => 0x100,
            Access::Write => 0x200,
            Access::ReadWrite => 0x300,
        };
        out.push((ValueName::MemoryAccess(operand), kind + u64::from(access.size)));
        out.push((ValueName::MemoryAddress(operand), access.address.0));
        let bytes = access.value.get(..usize::from(access.size)).unwrap_or(&access.value);
        out.extend(words(bytes).map(|(index, word)| (ValueName::MemoryValue(operand, index), word)));
    }
}

/// Numbered little-endian words, the last one padded with zeros.
fn words(bytes: &[u8]) -> impl Iterator<Item = (usize, u64)> {
    bytes.chunks(8).enumerate().map(|(index, chunk)| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        (index, u64::from_le_bytes(word))
    })
}
