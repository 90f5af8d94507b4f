//! Where the program's native code makes system calls. Each place has a stub in the agent's own code, from which the
//! kernel lets system calls through: it makes the call and goes back behind the place. A stub belongs to its place for
//! good, so any number of threads and signal handlers may be in it.

#![allow(unsafe_code, reason = "naked code, which reads a static")]

use std::arch::naked_asm;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::address::RuntimeAddr;

/// Places that have a stub.
const SITES: usize = 512;
/// Bytes from one stub to the next.
const SIZE: u64 = 16;
/// In a stub that traps, where the program is behind the trap.
const TRAPPED: u64 = 3;

/// The addresses behind the system calls; 0 while free. ATOMICS: set once, by compare-exchange.
static BEHIND: [AtomicU64; SITES] = [const { AtomicU64::new(0) }; SITES];

/// Stub `n` lies at `16 * n`. The kernel leaves the address behind a system call in rcx: so does the stub.
#[unsafe(naked)]
extern "C" fn through_stubs() {
    naked_asm!(
        ".set .Loverstep_site, 0",
        ".rept {sites}",
        "syscall",
        "mov rcx, qword ptr [rip + {behind} + 8 * .Loverstep_site]",
        "jmp rcx",
        ".set .Loverstep_site, .Loverstep_site + 1",
        ".balign {size}",
        ".endr",
        behind = sym BEHIND,
        sites = const SITES,
        size = const SIZE,
    )
}

/// The same, with a trap behind the call.
#[unsafe(naked)]
extern "C" fn trapping_stubs() {
    naked_asm!(
        ".rept {sites}",
        "syscall",
        "int3",
        ".balign {size}",
        ".endr",
        sites = const SITES,
        size = const SIZE,
    )
}

/// The stub of the system call in front of `behind`; `None` when the table is full.
pub(super) fn through(behind: RuntimeAddr) -> Option<RuntimeAddr> {
    stub(through_stubs as *const () as u64, behind)
}

/// The same, of those that trap.
pub(super) fn and_back(behind: RuntimeAddr) -> Option<RuntimeAddr> {
    stub(trapping_stubs as *const () as u64, behind)
}

/// Where a stub goes on that has trapped, `rip` being the address behind the trap instruction.
pub(super) fn trapped_at(rip: RuntimeAddr) -> Option<RuntimeAddr> {
    let offset = rip.0.checked_sub(trapping_stubs as *const () as u64)?;
    let behind = BEHIND.get((offset / SIZE) as usize)?.load(Ordering::Acquire);
    (offset % SIZE == TRAPPED && behind != 0).then_some(RuntimeAddr(behind))
}

fn stub(base: u64, behind: RuntimeAddr) -> Option<RuntimeAddr> {
    let first = (behind.0 ^ behind.0 >> 9) as usize;
    let place = (0..SITES).map(|probe| (first + probe) % SITES).find(|place| {
        BEHIND.get(*place).is_some_and(|site| {
            let claimed = site.compare_exchange(0, behind.0, Ordering::AcqRel, Ordering::Acquire);
            claimed.is_ok() || claimed == Err(behind.0)
        })
    })?;
    Some(RuntimeAddr(base + SIZE * place as u64))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]
mod tests {
    use super::*;

    #[test]
    fn a_site_keeps_its_stub_and_a_trap_finds_the_site() {
        let (one, other) = (RuntimeAddr(0x1234), RuntimeAddr(0x5678));
        assert_eq!(through(one), through(one));
        assert_ne!(through(one), through(other));
        let trap = and_back(other).unwrap().plus(TRAPPED);
        assert_eq!(trapped_at(trap), Some(other));
        assert_eq!(trapped_at(trap.plus(1)), None);
        // SAFETY: three bytes of our own code.
        let code = unsafe { std::slice::from_raw_parts((trap.0 - TRAPPED) as *const u8, 3) };
        assert_eq!(code, [0x0f, 0x05, 0xcc], "syscall; int3");
    }
}
