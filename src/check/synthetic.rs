//! Traces of a program that never ran, for tests: the real writer, made-up rows.
//!
//! The program is `a.out` at [`BIAS`]: `gcd` at 0x1139, `work` at 0x1160 and `puts@plt` at 0x1030.

#![allow(unsafe_code, reason = "the trace buffer's owner promises to outlive it")]

use crate::address::{Bias, ElfAddr, RuntimeAddr};
use crate::record::buffer::TraceBuffer;
use crate::record::code::{BLOCK, BlockBits, CodeBlock, SymbolRef};
use crate::record::control::{Delivery, Engine, Into, Rearm, StepMode};
use crate::record::header::{Cpu, DecoderVendor, TraceHeader};
use crate::record::marker::Marker;
use crate::record::memory_trace::MemoryTrace;
use crate::record::modules::ModuleRef;
use crate::record::reader::Trace;
use crate::record::step::{RegisterChangeRef, Step};
use crate::record::verdict::Verdict;
use crate::record::writer::ThreadWriter;
use crate::registers::{RAX, RCX, RDI, RDX, RSI, RSP, Registers, flag};
use std::sync::atomic::Ordering;

pub const BIAS: Bias = Bias(0x5555_5555_4000);
pub const THREAD: u32 = 4242;

/// int gcd(int a, int b) { while (b) { int t = a % b; a = b; b = t; } return a; }
pub const GCD: &[(u64, &[u8])] = &[
    (0x1139, &[0x89, 0xf8]),
    (0x113b, &[0x89, 0xf1]),
    (0x113d, &[0x85, 0xc9]),
    (0x113f, &[0x74, 0x0b]),
    (0x1141, &[0x99]),
    (0x1142, &[0xf7, 0xf9]),
    (0x1144, &[0x89, 0xc8]),
    (0x1146, &[0x89, 0xd1]),
    (0x1148, &[0x85, 0xc9]),
    (0x114a, &[0x75, 0xf5]),
    (0x114c, &[0xc3]),
];

/// A bit of everything: a native call, `rep`, a system call, a call into `gcd`.
pub const WORK: &[(u64, &[u8])] = &[
    (0x1160, &[0x53]),
    (0x1161, &[0x48, 0x8d, 0x3d, 0x98, 0x0e, 0x00, 0x00]),
    (0x1168, &[0xe8, 0xc3, 0xfe, 0xff, 0xff]),
    (0x116d, &[0xb9, 0x05, 0x00, 0x00, 0x00]),
    (0x1172, &[0xf3, 0xa4]),
    (0x1174, &[0x0f, 0x05]),
    (0x1176, &[0xe8, 0xbe, 0xff, 0xff, 0xff]),
    (0x117b, &[0x5b]),
    (0x117c, &[0xc3]),
];

/// Where an address of `a.out` lies in the process.
#[must_use]
pub const fn at(offset: u64) -> RuntimeAddr {
    ElfAddr(offset).at(BIAS)
}

/// A trace being made up, one thread at a time.
pub struct Synthetic {
    pub header: TraceHeader,
    memory: MemoryTrace,
    buffer: TraceBuffer,
    writer: ThreadWriter,
    pub registers: Registers,
    pub depth: u32,
}

impl Default for Synthetic {
    fn default() -> Self {
        Self::new()
    }
}

impl Synthetic {
    /// The program's code, symbols and module, and no rows.
    #[must_use]
    pub fn new() -> Self {
        Self::with_window(1 << 20)
    }

    /// The same program under another path.
    #[must_use]
    pub fn with_module(path: &str) -> Self {
        Self::build(1 << 20, path)
    }

    /// The same, with room for `window` bytes of rows.
    #[must_use]
    pub fn with_window(window: usize) -> Self {
        Self::build(window, "/home/ada/a.out")
    }

    fn build(window: usize, path: &str) -> Self {
        let memory = MemoryTrace::new(window).unwrap();
        // SAFETY: the buffer and its owner are fields of one struct and go together.
        let buffer = unsafe { memory.buffer() };
        let ranges = [at(0x1000)..at(0x2000)];
        let module = ModuleRef {
            id: 0,
            path: path.as_bytes(),
            bias: BIAS,
            build_id: &[0xde, 0xad, 0xbe, 0xef],
            ranges: &ranges,
        };
        buffer.modules(THREAD, &[module]).unwrap();
        write_code(&buffer);
        let mut registers = Registers { rflags: 0x202 | flag::PF | flag::ZF, ..Registers::default() };
        registers.general = [
            0x5555_5555_5160,
            0x5555_5555_7dd8,
            0x7ffd_1b2c_3e78,
            0,
            0x7ffd_1b2c_3d48,
            1,
            18,
            48,
            0,
            0x7fff_f7fc_9040,
            0x7fff_f7fc_3908,
            0x7fff_f7fd_e680,
            0x7ffd_1b2c_3e68,
            1,
            0,
            0x7fff_f7ff_d000,
        ];
        Self { header: header(), memory, buffer, writer: ThreadWriter::new(), registers, depth: 0 }
    }

    /// Another thread's rows from here on.
    pub fn thread(&mut self) {
        self.writer = ThreadWriter::new();
    }

    /// An outermost entry at `offset`.
    pub fn enter(&mut self, thread: u32, call: u64, offset: u64) {
        self.registers.rip = at(offset);
        self.depth = 0;
        self.writer.begin_call(&self.buffer, thread, call, 0, &self.registers).unwrap();
        self.count(|counters| &counters.entered, 1);
        self.count(|counters| &counters.traced, 1);
    }

    pub fn marker(&mut self, marker: Marker) {
        self.writer.marker(&self.buffer, &marker).unwrap();
    }

    /// One row at RIP that goes to `next` and changes registers as `run` does; `adjust` has the last word.
    pub fn step(&mut self, next: u64, run: impl FnOnce(&mut Registers), adjust: impl FnOnce(&mut Step<'_>)) {
        let before = self.registers;
        let mut after = before;
        run(&mut after);
        after.rip = at(next);
        let mut step = Step {
            address: before.rip,
            verdict: Verdict::Exact,
            next: at(next),
            registers: self.header.registers.then_some(RegisterChangeRef { before: &before, after: &after }),
            count: None,
            memory: &[],
            bytes: None,
            depth: self.depth,
            syscall: None,
        };
        adjust(&mut step);
        if step.verdict != Verdict::Reconstructed {
            self.count(|counters| &counters.stops, 1);
            self.count(|counters| &counters.step_hits, 1);
        }
        self.writer.step(&self.buffer, &step).unwrap();
        self.registers = after;
    }

    /// Brings the registers up to date behind a run of rows without changes, as the handler does in block stepping.
    pub fn sync(&mut self) {
        let registers = self.registers;
        self.writer.sync(&self.buffer, &registers).unwrap();
    }

    /// Runs `gcd` as block stepping does: a stop at the start, at each branch and at the return, and between two
    /// stops rows without changes. `adjust` may falsify the n-th row, from 1.
    pub fn gcd_in_blocks(&mut self, back: u64, mut adjust: impl FnMut(u64, &mut Step<'_>)) {
        let stops = [at(0x1139), at(0x113f), at(0x114a)];
        self.header.step = StepMode::Block;
        self.gcd_with(back, |trace, n, run, next| {
            let rip = trace.registers.rip;
            let stop = stops.contains(&rip);
            if stop && n > 1 {
                trace.sync();
            }
            let returns = rip == at(0x114c);
            trace.step(next, run, |step| {
                if !stop && !returns {
                    step.verdict = Verdict::Reconstructed;
                }
                if !returns {
                    step.registers = None;
                }
                adjust(n, step);
            });
        });
    }

    /// Space that a writer took, and was killed before it wrote there.
    pub fn hole(&self, bytes: u64) {
        self.memory.progress().used.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Runs `gcd` from its first instruction through its return to `back`, as the CPU would.
    pub fn gcd(&mut self, back: u64) {
        self.gcd_adjusted(back, |_, _| {});
    }

    /// The same, where `adjust` may falsify the n-th row, from 1.
    pub fn gcd_adjusted(&mut self, back: u64, mut adjust: impl FnMut(u64, &mut Step<'_>)) {
        self.gcd_with(back, |trace, n, run, next| trace.step(next, run, |step| adjust(n, step)));
    }

    /// `row` writes the n-th row: what the instruction does to registers, and where it goes.
    fn gcd_with(&mut self, back: u64, mut row: impl FnMut(&mut Self, u64, &dyn Fn(&mut Registers), u64)) {
        let mut n = 0;
        loop {
            let offset = self.registers.rip.in_elf(BIAS).0;
            let index = GCD.iter().position(|(at, _)| *at == offset).unwrap();
            let next = match offset {
                0x113f if self.registers.rflags & flag::ZF != 0 => 0x114c,
                0x114a if self.registers.rflags & flag::ZF == 0 => 0x1141,
                0x114c => back,
                _ => GCD[index + 1].0,
            };
            n += 1;
            row(self, n, &|registers| run_gcd(offset, registers), next);
            if offset == 0x114c {
                return;
            }
        }
    }

    /// Adds to one of the trace's counters.
    pub fn count(
        &self,
        which: impl FnOnce(&crate::record::counters::Counters) -> &std::sync::atomic::AtomicU64,
        more: u64,
    ) {
        which(self.buffer.counters()).fetch_add(more, Ordering::Relaxed);
    }

    /// The trace as its file.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        self.memory.to_bytes(&self.header).unwrap()
    }

    /// The trace as its file, closed with the status that `waitpid` gave.
    #[must_use]
    pub fn closed_bytes(&self, wait_status: i32) -> Vec<u8> {
        let mut bytes = self.bytes();
        bytes.extend(crate::record::chunk_bytes::end(wait_status, 1));
        bytes
    }

    /// The closed trace, read back.
    #[must_use]
    pub fn read_closed(&self, wait_status: i32) -> Trace {
        Trace::from_bytes(self.closed_bytes(wait_status)).unwrap()
    }

    /// The trace, read back.
    #[must_use]
    pub fn read(&self) -> Trace {
        Trace::from_bytes(self.bytes()).unwrap()
    }
}

/// `gcd(48, 18)` as one whole call.
#[must_use]
pub fn gcd_call() -> Synthetic {
    gcd_call_adjusted(|_, _| {})
}

/// The same, with rows falsified.
#[must_use]
pub fn gcd_call_adjusted(adjust: impl FnMut(u64, &mut Step<'_>)) -> Synthetic {
    let mut trace = Synthetic::new();
    trace.enter(THREAD, 1, 0x1139);
    trace.gcd_adjusted(0x117b, adjust);
    trace.marker(Marker::Leave { rax: trace.registers.general[RAX], xmm0: [0; 16] });
    trace
}

fn run_gcd(offset: u64, registers: &mut Registers) {
    let general = &mut registers.general;
    match offset {
        0x1139 => general[RAX] = general[RDI],
        0x113b => general[RCX] = general[RSI],
        0x1141 => general[RDX] = 0,
        0x1142 => {
            let (quotient, rest) = (general[RAX] / general[RCX], general[RAX] % general[RCX]);
            (general[RAX], general[RDX]) = (quotient, rest);
        }
        0x1144 => general[RAX] = general[RCX],
        0x1146 => general[RCX] = general[RDX],
        0x113d | 0x1148 => {
            let value = general[RCX];
            registers.rflags = 0x202
                | if value == 0 { flag::ZF } else { 0 }
                | if value.count_ones().is_multiple_of(2) { flag::PF } else { 0 };
        }
        0x114c => general[RSP] += 8,
        _ => {}
    }
}

fn write_code(buffer: &TraceBuffer) {
    let start = at(0x1000);
    let mut bytes = [0xcc; BLOCK];
    let (mut known, mut starts): (BlockBits, BlockBits) = ([0; BLOCK / 8], [0; BLOCK / 8]);
    for (offset, instruction) in GCD.iter().chain(WORK) {
        let place = (offset - 0x1000) as usize;
        bytes[place..place + instruction.len()].copy_from_slice(instruction);
        starts[place / 8] |= 1 << (place % 8);
        for byte in place..place + instruction.len() {
            known[byte / 8] |= 1 << (byte % 8);
        }
    }
    let block = CodeBlock {
        address: start,
        bytes: &bytes,
        known: &known,
        start: &starts,
        differs: &[0; BLOCK / 8],
        module: 0,
    };
    let symbol = |name: &'static str, offset, size| SymbolRef {
        start: at(offset),
        size,
        module: 0,
        name: name.as_bytes(),
        raw: name.as_bytes(),
    };
    let symbols = [symbol("puts@plt", 0x1030, 16), symbol("gcd", 0x1139, 20), symbol("work", 0x1160, 29)];
    buffer.code(THREAD, &block, &symbols).unwrap();
}

fn header() -> TraceHeader {
    TraceHeader {
        overstep: "0.1.0".to_owned(),
        engine: Engine::Breakpoint,
        delivery: Delivery::Sigtrap,
        rearm: Rearm::RefreshPeriod,
        step: StepMode::Instruction,
        into: Into::Module,
        registers: true,
        memory: false,
        kernel: "6.18.5".to_owned(),
        cpu: Cpu {
            vendor: "AuthenticAMD".to_owned(),
            family: 25,
            model: 17,
            stepping: 1,
            name: "AMD EPYC 9R14".to_owned(),
        },
        decoder: DecoderVendor::Amd,
        command: vec!["./a.out".to_owned(), "48".to_owned(), "18".to_owned()],
        functions: vec!["gcd".to_owned()],
        calibration: None,
        started: 1_764_432_000,
    }
}
