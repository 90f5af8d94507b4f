//! What the random runs leave out and can still be compared: far transfers within 64-bit code, and the
//! instructions whose trap comes one instruction late.

use crate::ONE_AT_A_TIME;
use crate::random::Random;
use crate::state::{START, fresh, registers};
use crate::stepper::{LOW_CODE, Outcome, SCRATCH, Stepper};
use overstep::address::RuntimeAddr;
use overstep::image::decode::{Vendor, decode};
use overstep::image::successor::{Successor, USER_CS, successor};
use std::sync::PoisonError;

const USER_DS: u64 = 0x2b;
const AREA: u64 = SCRATCH + 0x8000;

/// Steps `bytes` with `words` at the stack pointer and at rdi: (predicted, outcome, RIP after).
fn one(stepper: &mut Stepper, bytes: &[u8], words: &[u64]) -> (Successor, Outcome, u64) {
    let mut before = fresh(&mut Random::new(3), stepper);
    stepper.load(START as usize, bytes);
    before.rip = LOW_CODE + START;
    (before.rsp, before.rdi, before.rax) = (AREA, AREA, USER_DS);
    for (i, word) in words.iter().enumerate() {
        stepper.store(AREA - SCRATCH + 8 * i as u64, *word);
    }
    let ip = RuntimeAddr(before.rip);
    let instruction = decode(bytes, ip, Vendor::of_this_cpu()).unwrap();
    let predicted = successor(&instruction, &registers(&before), &stepper.memory(&before));
    let (outcome, after) = stepper.step(&before);
    (predicted, outcome, after.rip)
}

#[test]
fn far_transfers_within_64_bit_code() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(mut stepper) = Stepper::start() else {
        println!("SKIP far_transfers_within_64_bit_code: ptrace is refused here");
        return;
    };
    let target = LOW_CODE + 0x100;
    let cs = u64::from(USER_CS);
    let cases: [(&str, &[u8], Vec<u64>); 5] = [
        ("retfq", &[0x48, 0xcb], vec![target, cs]),
        ("retfq 8", &[0x48, 0xca, 8, 0], vec![target, cs]),
        ("retf", &[0xcb], vec![target | cs << 32]),
        ("iretq", &[0x48, 0xcf], vec![target, cs, 0x202, AREA, USER_DS]),
        ("jmp far m16:32", &[0xff, 0x2f], vec![target | cs << 32]),
    ];
    for (name, bytes, words) in cases {
        let (predicted, outcome, rip) = one(&mut stepper, bytes, &words);
        let expected = Successor::Far { to: RuntimeAddr(target), selector: USER_CS };
        assert_eq!((predicted, outcome, rip), (expected, Outcome::Stepped, target), "{name}");
    }
}

#[test]
fn the_instruction_after_mov_ss_runs_before_the_trap() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(mut stepper) = Stepper::start() else {
        println!("SKIP the_instruction_after_mov_ss_runs_before_the_trap: ptrace is refused here");
        return;
    };
    // mov ss, eax; then the nops that fill the page.
    let (predicted, outcome, rip) = one(&mut stepper, &[0x8e, 0xd0], &[]);
    let start = LOW_CODE + START;
    assert_eq!(predicted, Successor::One(RuntimeAddr(start + 2)));
    assert_eq!((outcome, rip), (Outcome::Stepped, start + 3));
}

#[test]
fn descriptor_stores_lose_their_trap_under_umip() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(mut stepper) = Stepper::start() else {
        println!("SKIP descriptor_stores_lose_their_trap_under_umip: ptrace is refused here");
        return;
    };
    let umip = std::fs::read_to_string("/proc/cpuinfo").unwrap().contains(" umip ");
    // sgdt [rdi], sidt [rdi], smsw eax, sldt eax, str eax; then the nops that fill the page.
    let cases: [&[u8]; 5] =
        [&[0x0f, 0x01, 0x07], &[0x0f, 0x01, 0x0f], &[0x0f, 0x01, 0xe0], &[0x0f, 0, 0xc0], &[0x0f, 0, 0xc8]];
    for bytes in cases {
        let (predicted, outcome, rip) = one(&mut stepper, bytes, &[]);
        let start = LOW_CODE + START;
        assert_eq!(predicted, Successor::One(RuntimeAddr(start + 3)));
        // A kernel that emulates sgdt but not sldt and str (before 5.10) faults on those.
        let faulted = matches!(outcome, Outcome::Faulted(_));
        assert!(faulted || rip == start + 3 + u64::from(umip), "{bytes:02x?} {outcome:?} {rip:#x}");
    }
}
