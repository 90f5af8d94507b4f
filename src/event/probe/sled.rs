//! Code whose every instruction has a known address: what the probes break on.

#![allow(unsafe_code, reason = "naked functions, so that the addresses are exact")]

use std::arch::naked_asm;

use crate::address::RuntimeAddr;

/// One-byte instructions in [`walk`], and so hits of a breakpoint that moves through it.
pub(super) const LENGTH: u32 = 64;

/// Where [`walk`]'s `n`th instruction lies, from 0.
pub(super) fn at(n: u32) -> RuntimeAddr {
    RuntimeAddr(walk as *const () as u64).plus(u64::from(n))
}

/// [`LENGTH`] nops.
#[unsafe(naked)]
pub(super) extern "C" fn walk() {
    naked_asm!(".rept {length}", "nop", ".endr", "ret", length = const LENGTH)
}

/// Runs [`walk`] with the trap flag set. It is set before the call, so traps come from outside the sled too.
#[unsafe(naked)]
pub(super) extern "C" fn walk_under_trap_flag() {
    naked_asm!(
        "pushfq",
        "or qword ptr [rsp], 0x100",
        "popfq",
        "call {walk}",
        "pushfq",
        "and qword ptr [rsp], -0x101",
        "popfq",
        "ret",
        walk = sym walk,
    )
}

/// Retires 2 × `rounds` instructions, and few more.
#[unsafe(naked)]
pub(super) extern "C" fn spin(rounds: u64) {
    naked_asm!("2: dec rdi", "jnz 2b", "ret")
}
