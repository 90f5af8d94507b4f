//! Random events, and what a reader must make of them.
#![allow(dead_code, reason = "each test file uses its part")]

use overstep::address::RuntimeAddr;
use overstep::record::buffer::TraceBuffer;
use overstep::record::control::{Delivery, Engine, Into, Rearm, StepMode};
use overstep::record::header::{Cpu, DecoderVendor, TraceHeader};
use overstep::record::marker::{LostReason, Marker};
use overstep::record::reader::{CodeBytes, Entry, MarkerEntry, StepEntry};
use overstep::record::step::{Access, MemoryAccess, RegisterChange, RegisterChangeRef, Step, Syscall};
use overstep::record::verdict::Verdict;
use overstep::record::writer::ThreadWriter;
use overstep::registers::Registers;
use proptest::prelude::*;

pub fn header() -> TraceHeader {
    TraceHeader {
        overstep: "0.1.0".to_owned(),
        engine: Engine::Breakpoint,
        delivery: Delivery::Sigtrap,
        rearm: Rearm::RefreshPeriod,
        step: StepMode::Instruction,
        into: Into::Module,
        registers: true,
        memory: true,
        kernel: "6.18.0".to_owned(),
        cpu: Cpu {
            vendor: "AuthenticAMD".to_owned(),
            family: 25,
            model: 17,
            stepping: 1,
            name: "AMD EPYC 9654".to_owned(),
        },
        decoder: DecoderVendor::Amd,
        command: vec!["./a.out".to_owned(), "48".to_owned(), "18".to_owned()],
        functions: vec!["gcd".to_owned()],
        calibration: None,
        started: 1_700_000_000,
    }
}

/// A step that says nothing but where it was.
pub fn plain(address: u64, next: u64) -> Step<'static> {
    Step {
        address: RuntimeAddr(address),
        verdict: Verdict::Exact,
        next: RuntimeAddr(next),
        registers: None,
        count: None,
        memory: &[],
        bytes: None,
        depth: 0,
        syscall: None,
    }
}

/// What a handler might write.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "nearly every event is a step")]
pub enum Event {
    Enter { function: u32, registers: Registers },
    Step(OwnedStep),
    Marker(Marker),
}

#[derive(Clone, Debug)]
pub struct OwnedStep {
    pub address: RuntimeAddr,
    pub verdict: Verdict,
    pub next: RuntimeAddr,
    pub registers: Option<(Registers, Registers)>,
    pub count: Option<u64>,
    pub memory: Vec<MemoryAccess>,
    pub bytes: Option<Vec<u8>>,
    pub depth: u32,
    pub syscall: Option<Syscall>,
}

pub fn write_events(buffer: &TraceBuffer, writer: &mut ThreadWriter, thread: u32, events: &[Event]) {
    let mut call = 0;
    for event in events {
        match event {
            Event::Enter { function, registers } => {
                call += 1;
                writer.begin_call(buffer, thread, call, *function, registers)
            }
            Event::Step(step) => {
                writer.set_thread(thread);
                writer.step(
                    buffer,
                    &Step {
                        address: step.address,
                        verdict: step.verdict,
                        next: step.next,
                        registers: step
                            .registers
                            .as_ref()
                            .map(|(before, after)| RegisterChangeRef { before, after }),
                        count: step.count,
                        memory: &step.memory,
                        bytes: step.bytes.as_deref(),
                        depth: step.depth,
                        syscall: step.syscall.as_ref(),
                    },
                )
            }
            Event::Marker(marker) => {
                writer.set_thread(thread);
                writer.marker(buffer, marker)
            }
        }
        .expect("room");
    }
}

/// What a reader must give for `events`.
pub fn model(thread: u32, events: &[Event]) -> Vec<Entry> {
    let mut call = 0;
    let mut n = 0;
    let entry = |event: &Event| match event {
        Event::Enter { function, registers } => {
            call += 1;
            n = 0;
            let marker = Marker::Enter { function: *function, registers: *registers };
            Entry::Marker(MarkerEntry { call, after: 0, thread, marker })
        }
        Event::Marker(marker) => Entry::Marker(MarkerEntry { call, after: n, thread, marker: *marker }),
        Event::Step(step) => {
            n += 1;
            Entry::Step(StepEntry {
                call,
                n,
                thread,
                depth: step.depth,
                address: step.address,
                bytes: step.bytes.as_deref().map(CodeBytes::from).unwrap_or_default(),
                differs_from_file: false,
                verdict: step.verdict,
                next: step.next,
                stopped_with: None,
                registers: step.registers.map(|(before, after)| RegisterChange {
                    before: Registers { rip: step.address, ..before },
                    after: Registers { rip: step.next, ..after },
                }),
                count: step.count,
                memory: step.memory.clone(),
                syscall: step.syscall,
            })
        }
    };
    events.iter().map(entry).collect()
}

/// Everything but what the reader says about damage.
pub fn rows_of(entries: impl Iterator<Item = Entry>) -> Vec<Entry> {
    entries
        .filter(|entry| {
            !matches!(
                entry,
                Entry::Marker(MarkerEntry { marker: Marker::Lost { reason: LostReason::Damaged, .. }, .. })
            )
        })
        .collect()
}

/// Every event and every optional part, with values that do not change with a library's random numbers.
pub fn one_of_each() -> Vec<Event> {
    let before = Registers {
        general: std::array::from_fn(|i| 0x1000 + i as u64),
        rip: RuntimeAddr(0x40_1139),
        rflags: 0x246,
    };
    let mut after = before;
    after.general[0] = u64::MAX;
    after.general[4] -= 8;
    after.rflags = 0x1_0a97;
    let step = OwnedStep {
        address: before.rip,
        verdict: Verdict::Exact,
        next: RuntimeAddr(0x40_113c),
        registers: None,
        count: None,
        memory: vec![],
        bytes: None,
        depth: 0,
        syscall: None,
    };
    let value = std::array::from_fn(|i| if i < 8 { i as u8 } else { 0 });
    let memory =
        MemoryAccess { access: Access::ReadWrite, address: RuntimeAddr(0x7fff_1000), size: 8, value };
    let syscall = Syscall { number: 1, arguments: [1, 0x5000, 6, 0, 0, 0], result: 6 };
    let verdicts = [
        Verdict::Zero,
        Verdict::Skid(3),
        Verdict::Reconstructed,
        Verdict::Unexplained { expected: RuntimeAddr(0x40_1140) },
        Verdict::Lost,
    ];
    let (here, there) = (RuntimeAddr(0x40_1139), RuntimeAddr(0x7f00_0000_1000));
    let markers = [
        Marker::Signal { number: 10, handler: there },
        Marker::Sigreturn,
        Marker::Fault { signal: 11, address: RuntimeAddr(8) },
        Marker::Native { target: there, resume: here },
        Marker::Rseq { start: here, end: there },
        Marker::Masked { stops: 4 },
        Marker::Fork { child: 4711 },
        Marker::Exec,
        Marker::Exit { status: 3 },
        Marker::Lost { reason: LostReason::Uncounted, expected: here, found: there, detail: 2 },
        Marker::Leave { rax: 6, xmm0: std::array::from_fn(|i| i as u8) },
    ];
    let mut events = vec![
        Event::Enter { function: 2, registers: before },
        Event::Step(OwnedStep { registers: Some((before, after)), ..step.clone() }),
        Event::Step(OwnedStep { memory: vec![memory; 2], count: Some(300), ..step.clone() }),
        Event::Step(OwnedStep {
            bytes: Some(vec![0x0f, 0x05]),
            depth: 2,
            syscall: Some(syscall),
            ..step.clone()
        }),
    ];
    events.extend(verdicts.map(|verdict| Event::Step(OwnedStep { verdict, ..step.clone() })));
    events.extend(markers.map(Event::Marker));
    events
}

pub fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        1 => (any::<u32>(), registers()).prop_map(|(function, registers)| Event::Enter { function, registers }),
        20 => step().prop_map(Event::Step),
        3 => marker().prop_map(Event::Marker),
    ]
}

/// Small numbers, pointers, and everything else.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0..300u64, 0x7fff_0000_0000..0x7fff_0001_0000u64, any::<u64>(), Just(u64::MAX)]
}

fn address() -> impl Strategy<Value = RuntimeAddr> {
    number().prop_map(RuntimeAddr)
}

fn registers() -> impl Strategy<Value = Registers> {
    let flags = prop_oneof![any::<u64>(), (0..0x1000u64).prop_map(|flags| flags & 0xcd5 | 0x202)];
    (prop::array::uniform16(number()), address(), flags).prop_map(|(general, rip, rflags)| Registers {
        general,
        rip,
        rflags,
    })
}

fn verdict() -> impl Strategy<Value = Verdict> {
    prop_oneof![
        8 => Just(Verdict::Exact),
        4 => Just(Verdict::Reconstructed),
        1 => Just(Verdict::Zero),
        1 => Just(Verdict::Lost),
        1 => any::<u32>().prop_map(Verdict::Skid),
        1 => address().prop_map(|expected| Verdict::Unexplained { expected }),
    ]
}

fn memory() -> impl Strategy<Value = MemoryAccess> {
    let access = prop_oneof![Just(Access::Read), Just(Access::Write), Just(Access::ReadWrite)];
    (access, address(), 1..=64u8, any::<u8>()).prop_map(|(access, address, size, fill)| {
        let mut value = [0; 64];
        value[..usize::from(size)].fill(fill);
        MemoryAccess { access, address, size, value }
    })
}

fn syscall() -> impl Strategy<Value = Syscall> {
    (number(), prop::array::uniform6(number()), number()).prop_map(|(number, arguments, result)| Syscall {
        number,
        arguments,
        result,
    })
}

fn step() -> impl Strategy<Value = OwnedStep> {
    let place = (address(), number(), verdict(), 0..4u32);
    let rare = (
        prop::option::weighted(0.1, any::<u64>()),
        prop::option::weighted(0.1, prop::collection::vec(any::<u8>(), 1..16)),
        prop::option::weighted(0.05, syscall()),
        prop_oneof![9 => Just(vec![]).boxed(), 1 => prop::collection::vec(memory(), 1..17).boxed()],
    );
    (place, prop::option::of((registers(), registers())), rare).prop_map(
        |((address, distance, verdict, depth), registers, (count, bytes, syscall, memory))| OwnedStep {
            address,
            verdict,
            next: address.plus(distance),
            registers,
            count,
            memory,
            bytes,
            depth,
            syscall,
        },
    )
}

fn marker() -> impl Strategy<Value = Marker> {
    prop_oneof![
        (number(), any::<[u8; 16]>()).prop_map(|(rax, xmm0)| Marker::Leave { rax, xmm0 }),
        (any::<u32>(), address()).prop_map(|(number, handler)| Marker::Signal { number, handler }),
        Just(Marker::Sigreturn),
        (any::<u32>(), address()).prop_map(|(signal, address)| Marker::Fault { signal, address }),
        (address(), address()).prop_map(|(target, resume)| Marker::Native { target, resume }),
        (address(), address()).prop_map(|(start, end)| Marker::Rseq { start, end }),
        number().prop_map(|stops| Marker::Masked { stops }),
        any::<u32>().prop_map(|child| Marker::Fork { child }),
        Just(Marker::Exec),
        any::<u32>().prop_map(|status| Marker::Exit { status }),
        (1..=10u8, address(), address(), number()).prop_map(|(reason, expected, found, detail)| {
            Marker::Lost {
                reason: LostReason::from_number(reason).expect("1 to 10 are reasons"),
                expected,
                found,
                detail,
            }
        }),
    ]
}
