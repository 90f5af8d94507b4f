//! Instructions that would let out what no two runs share, each in two runs that differ.

use crate::check::synthetic::{BIAS, Synthetic, THREAD};
use crate::listing::column::Column;
use crate::listing::golden::{leak, text_of};
use crate::listing::options::{Options, Values};
use crate::listing::selection::Selection;
use crate::record::control::StepMode;
use crate::record::marker::Marker;
use crate::record::step::{Access, MemoryAccess, Syscall};
use crate::record::verdict::Verdict;
use crate::registers::{R11, RAX, RCX, RDI, RDX, RSI, RSP, Registers, flag};

/// Addresses and chance of one run.
#[derive(Clone, Copy)]
pub(super) struct Run {
    pub(super) rsp: u64,
    pub(super) chance: u64,
}

const RUNS: [Run; 2] = [
    Run { rsp: 0x7ffd_1b2c_3d48, chance: 0x1122_3344_5566_7788 },
    Run { rsp: 0x7ffc_a0e7_5698, chance: 0x8091_a2b3_c4d5_e6f7 },
];

/// A function that begins with a pointer to its caller's frame, and what it executes.
fn traced(run: Run, execute: impl FnOnce(&mut Program)) -> String {
    let mut trace = Synthetic::new();
    trace.header.memory = true;
    trace.registers.general[RSP] = run.rsp;
    trace.registers.general[RDI] = run.rsp + 0x20;
    trace.enter(THREAD, 1, 0x1100);
    let mut program = Program(trace);
    execute(&mut program);
    let columns = vec![Column::Instruction, Column::Changed];
    let options = Options { columns, summary: false, values: Values::Stable, ..Options::default() };
    text_of(&program.0.read(), &options)
}

pub(super) struct Program(pub(super) Synthetic);

impl Program {
    pub(super) fn execute(&mut self, bytes: &'static [u8], run: impl FnOnce(&mut Registers)) {
        self.touch(bytes, &[], run);
    }

    pub(super) fn touch(
        &mut self,
        bytes: &'static [u8],
        memory: &'static [MemoryAccess],
        run: impl FnOnce(&mut Registers),
    ) {
        let next = self.0.registers.rip.in_elf(BIAS).0 + bytes.len() as u64;
        self.0.step(next, run, |step| (step.bytes, step.memory) = (Some(bytes), memory));
    }

    fn general(&self, index: usize) -> u64 {
        self.0.registers.general[index]
    }
}

pub(super) fn memory(access: Access, address: u64, size: u8, value: &[u8]) -> &'static [MemoryAccess] {
    let mut bytes = [0; 64];
    bytes[..value.len()].copy_from_slice(value);
    leak([MemoryAccess { access, address: crate::address::RuntimeAddr(address), size, value: bytes }])
}

/// What both runs list: the same.
pub(super) fn both(execute: impl Fn(&mut Program, Run)) -> String {
    let [one, other] = RUNS.map(|run| traced(run, |program| execute(program, run)));
    assert_eq!(one, other);
    one
}

#[test]
fn what_a_system_call_writes() {
    let text = both(|program, run| {
        let buffer = run.rsp + 0x20;
        let chance = run.chance.to_le_bytes();
        program.execute(&[0xb8, 0x3e, 0x01, 0, 0], |r| r.general[RAX] = libc::SYS_getrandom as u64);
        program.execute(&[0xbe, 8, 0, 0, 0], |r| r.general[RSI] = 8);
        program.execute(&[0x31, 0xd2], |r| r.general[RDX] = 0);
        let next = program.0.registers.rip.in_elf(BIAS).0 + 2;
        let call = leak(Syscall {
            number: libc::SYS_getrandom as u64,
            arguments: [buffer, 8, 0, 0, 0, 0],
            result: 8,
        });
        let run = |r: &mut Registers| (r.general[RAX], r.general[RCX], r.general[R11]) = (8, r.rip.0, 0x246);
        program.0.step(next, run, |step| (step.bytes, step.syscall) = (Some(&[0x0f, 0x05][..]), Some(call)));
        let (load, number) = ([0x0f, 0xb6, 0x07], u64::from(chance[0]));
        program.touch(leak(load), memory(Access::Read, buffer, 1, &chance[..1]), |r| r.general[RAX] = number);
        // Behind what was written.
        let load = memory(Access::Read, buffer + 8, 1, &[7]);
        program.touch(&[0x0f, 0xb6, 0x47, 8], load, |r| r.general[RAX] = 7);
    });
    assert!(text.contains("rax ?→?  read 1 [stack+0x20]=?"), "{text}");
    assert!(text.contains("rax ?→0x7  read 1 [stack+0x28]=0x7"), "{text}");
}

#[test]
fn what_is_left_of_an_address() {
    let text = both(|program, run| {
        let (pointer, rsp) = (run.rsp + 0x20, run.rsp);
        let mov: &[u8] = &[0x48, 0x89, 0xf8];
        program.execute(mov, |r| r.general[RAX] = r.general[RDI]);
        program.execute(&[0xb0, 1], |r| r.general[RAX] = r.general[RAX] & !0xff | 1);
        program.execute(mov, |r| r.general[RAX] = r.general[RDI]);
        program.execute(&[0x83, 0xe0, 0x0f], |r| r.general[RAX] &= 15);
        // Its lower half stored, its upper half, and both read at once.
        let half = (pointer as u32).to_le_bytes();
        program.touch(&[0x89, 0x7c, 0x24, 0xf8], memory(Access::Write, rsp - 8, 4, &half), |_| {});
        program.execute(mov, |r| r.general[RAX] = r.general[RDI]);
        program.execute(&[0x48, 0xc1, 0xe8, 0x20], |r| r.general[RAX] >>= 32);
        // movq xmm0,rdi; pextrw ecx,xmm0,1
        program.execute(&[0x66, 0x48, 0x0f, 0x6e, 0xc7], |_| {});
        let word = pointer >> 16 & 0xffff;
        program.execute(&[0x66, 0x0f, 0xc5, 0xc8, 1], |r| r.general[RCX] = word);
        // movq rdx,xmm0
        program.execute(&[0x66, 0x48, 0x0f, 0x7e, 0xc2], |r| r.general[RDX] = pointer);
        // Padding of a structure in the frame: one byte was written.
        program.touch(&[0xc6, 0x44, 0x24, 0xe8, 1], memory(Access::Write, rsp - 0x18, 1, &[1]), |_| {});
        let garbage = run.chance & !0xff | 1;
        let load = memory(Access::Read, rsp - 0x18, 8, &garbage.to_le_bytes());
        program.touch(&[0x48, 0x8b, 0x44, 0x24, 0xe8], load, |r| r.general[RAX] = garbage);
    });
    assert!(text.contains("rax stack+0x20→?"), "its low byte: {text}");
    assert!(text.contains("rax stack+0x20→0x8"), "its alignment: {text}");
    assert!(text.contains("write 4 [stack-0x8]=?"), "{text}");
    assert!(text.contains("rcx ?→?"), "{text}");
    assert!(text.contains("rdx ?→stack+0x20"), "whole: {text}");
    assert!(text.contains("read 8 [stack-0x18]=?"), "{text}");
}

#[test]
fn flags_of_addresses_and_of_chance() {
    let text = both(|program, run| {
        let pointer = run.rsp + 0x20;
        let carry = |r: &mut Registers, set| r.rflags = r.rflags & !flag::CF | if set { flag::CF } else { 0 };
        program.execute(&[0x48, 0x0f, 0xba, 0xe7, 5], |r| carry(r, pointer >> 5 & 1 != 0));
        program.execute(&[0x48, 0x0f, 0xba, 0xe7, 7], |r| carry(r, pointer >> 7 & 1 != 0));
        program.execute(&[0x48, 0x89, 0xf8], |r| r.general[RAX] = r.general[RDI]);
        program.execute(&[0x48, 0xc1, 0xf8, 8], |r| {
            r.general[RAX] >>= 8;
            carry(r, pointer >> 7 & 1 != 0);
        });
        // An address is not zero, in every run.
        program.execute(&[0x48, 0x85, 0xff], |r| r.rflags &= !(flag::ZF | flag::CF | flag::SF));
    });
    assert!(!text.contains("CF"), "{text}");
}

#[test]
fn the_stack_guard_in_blocks() {
    let text = both(|program, run| {
        program.0.header.step = StepMode::Block;
        let inside = |program: &mut Program, bytes: &'static [u8], run: &dyn Fn(&mut Registers)| {
            let next = program.0.registers.rip.in_elf(BIAS).0 + bytes.len() as u64;
            program.0.step(next, run, |step| {
                (step.bytes, step.registers) = (Some(bytes), None);
                step.verdict = Verdict::Reconstructed;
            });
        };
        inside(program, &[0x48, 0x83, 0xec, 0x28], &|r| r.general[RSP] -= 0x28);
        inside(program, &[0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0], &|r| r.general[RAX] = run.chance);
        inside(program, &[0x48, 0x89, 0x44, 0x24, 0x18], &|_| {});
        program.0.sync();
        program.execute(&[0xe8, 0, 0, 0, 0], |r| r.general[RSP] -= 8);
        let target = program.0.registers.rip;
        program.0.marker(Marker::Native { target, resume: target });
        program.0.registers.general[RSP] += 8;
        let load = memory(Access::Read, run.rsp - 0x10, 8, &run.chance.to_le_bytes());
        program.touch(&[0x48, 0x8b, 0x54, 0x24, 0x18], load, |r| r.general[RDX] = run.chance);
    });
    assert!(text.contains("rdx ?→?  read 8 [stack-0x10]=?"), "{text}");
}

#[test]
fn what_lies_where_chance_says() {
    let text = both(|program, run| {
        let index = run.chance & 3;
        program.execute(&[0x0f, 0x31], |r| (r.general[RAX], r.general[RDX]) = (index, 0));
        let at = program.general(RDI) + index;
        let load = memory(Access::Read, at, 1, &[index as u8]);
        program.touch(&[0x0f, 0xb6, 0x0c, 0x07], load, |r| r.general[RCX] = index);
    });
    assert!(text.contains("rcx ?→?  read 1 [?]=?"), "{text}");
}

#[test]
fn a_result_that_the_caller_left_behind() {
    let text = both(|program, run| {
        program.execute(&[0xb8, 1, 0, 0, 0], |r| r.general[RAX] = 1);
        let mut xmm0 = [0; 16];
        xmm0[..8].copy_from_slice(&((run.chance >> 48) as f64).to_le_bytes());
        program.0.marker(Marker::Leave { rax: 1, xmm0 });
    });
    assert!(text.contains("rax 0x1 (1)") && !text.contains("xmm0"), "{text}");
}

#[test]
fn threads_go_by_the_number_that_is_shown() {
    let mut trace = Synthetic::new();
    for (thread, call) in [(THREAD, 1), (THREAD + 7, 2)] {
        trace.enter(thread, call, 0x1139);
        trace.gcd(0x117b);
        trace.thread();
    }
    let trace = trace.read();
    let listed = |threads, values| {
        let selection = Selection { threads, ..Selection::default() };
        text_of(&trace, &Options { values, selection, ..Options::default() })
    };
    let second = listed(vec![2], Values::Stable);
    assert!(
        second.contains("call 2: gcd (a.out+0x1139), thread 2") && !second.contains("call 1"),
        "{second}"
    );
    assert!(!listed(vec![THREAD + 7], Values::Stable).contains("call 2"));
    let second = listed(vec![THREAD + 7], Values::Recorded);
    assert!(second.contains("call 2") && !second.contains("call 1"), "{second}");
}
