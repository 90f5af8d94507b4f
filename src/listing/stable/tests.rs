//! Runs of one program that differ in what runs differ in.

use crate::check::synthetic::{Synthetic, THREAD};
use crate::listing::column::Column;
use crate::listing::golden::{compare, text_of};
use crate::listing::options::{Options, Values};
use crate::record::marker::Marker;
use crate::registers::{R11, RAX, RBX, RCX, RDI, RDX, RSI, RSP};

/// `work` calling `gcd`, with what the caller left in the other registers.
fn run(thread: u32, rsp: u64, garbage: u64) -> Synthetic {
    let mut trace = Synthetic::new();
    for register in [RAX, RBX, RCX, RDX, R11, 12, 15] {
        trace.registers.general[register] = garbage.wrapping_mul(register as u64 + 1);
    }
    trace.registers.rflags |= garbage & 0x8d5;
    trace.registers.general[RSP] = rsp;
    trace.registers.general[RDI] = rsp + 0x20;
    trace.enter(thread, 1, 0x1160);
    trace.step(0x1161, |r| r.general[RSP] -= 8, |_| {});
    trace.registers.rip = crate::check::synthetic::at(0x1176);
    trace.registers.general[RDI] = 48;
    trace.registers.general[RSI] = 18;
    trace.step(0x1139, |r| r.general[RSP] -= 8, |_| {});
    trace.depth = 1;
    trace.gcd(0x117b);
    trace.depth = 0;
    trace.step(0x117c, |r| (r.general[RBX], r.general[RSP]) = (garbage, rsp), |_| {});
    trace.step(0x1500, |r| r.general[RSP] += 8, |_| {});
    let rax = trace.registers.general[RAX];
    trace.marker(Marker::Leave { rax, xmm0: [0; 16] });
    trace
}

fn stable() -> Options {
    Options { values: Values::Stable, ..Options::default() }
}

#[test]
fn what_differs_between_runs_does_not_show() {
    let one = run(THREAD, 0x7ffd_1b2c_3d48, 0x1234).read();
    let mut other = run(THREAD + 99, 0x7ffc_0a00_0f38, 0x5555_7777_1041);
    other.header.kernel = "5.14.0".to_owned();
    other.header.cpu.name = "another".to_owned();
    other.header.command[0] = "/elsewhere/a.out".to_owned();
    let other = other.read();
    assert_ne!(text_of(&one, &Options::default()), text_of(&other, &Options::default()));
    let text = text_of(&one, &stable());
    assert_eq!(text, text_of(&other, &stable()));
    compare("stable.txt", &text);
}

#[test]
fn what_a_program_computes_shows() {
    let listed = |a, b| {
        let mut trace = Synthetic::new();
        (trace.registers.general[RDI], trace.registers.general[RSI]) = (a, b);
        trace.enter(THREAD, 1, 0x1139);
        trace.gcd(0x117b);
        let columns = vec![Column::Instruction, Column::Registers, Column::Flags];
        text_of(&trace.read(), &Options { columns, summary: false, ..stable() })
    };
    assert_ne!(listed(48, 18), listed(48, 30), "the same path, other values");
    assert!(listed(48, 18).contains("rdi 0x30  rsi 0x12"), "{}", listed(48, 18));
}
