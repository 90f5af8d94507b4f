//! Copies of the instructions under patches, each in a slot with a jump back: a thread runs the copy, and the patch stays
//! for the others.

#![allow(unsafe_code, reason = "executable memory is mapped by hand")]

use std::sync::atomic::{AtomicU64, Ordering};

use iced_x86::{Code, Instruction};

use crate::address::RuntimeAddr;
use crate::image::class::Class;
use crate::image::decode::{MAX_LENGTH, Vendor, decode};
use crate::image::memory::{Memory, OwnMemory};
use crate::raw;

/// Bytes of a slot: the longest instruction, `jmp [rip]`, and where to; or a conditional branch and two such.
pub(super) const SLOT: usize = 32;
/// `jmp qword ptr [rip + 0]`.
const JUMP: [u8; 6] = [0xff, 0x25, 0, 0, 0, 0];
/// `push qword ptr [rip + 14]`: of what stands behind a jump and where to.
const PUSH: [u8; 6] = [0xff, 0x35, JUMP.len() as u8 + 8, 0, 0, 0];
/// Behind a short jump, another jump, and where to.
pub(super) const SECOND_EXIT: u64 = 2 + JUMP.len() as u64 + 8;
const PAGE: u64 = 4096;

/// The slots' mapping, made when the first one is needed. All zeros is none.
pub(super) struct Slots {
    /// ATOMICS: set once by compare-exchange; who loses unmaps its own.
    base: AtomicU64,
}

impl Slots {
    /// Slot `number` of `count`. `None` where memory that can be executed is not to be had.
    ///
    /// # Signal safety
    /// mmap, the first time.
    pub(super) fn slot(&self, number: usize, count: usize) -> Option<RuntimeAddr> {
        let base = self.base.load(Ordering::Acquire);
        let base = if base == 0 { self.map(count * SLOT)? } else { base };
        Some(RuntimeAddr(base + (number * SLOT) as u64))
    }

    fn map(&self, length: usize) -> Option<u64> {
        let protection = (libc::PROT_READ | libc::PROT_EXEC) as u64;
        let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as u64;
        // SAFETY: a fresh anonymous mapping; no existing memory is touched.
        let fresh =
            unsafe { raw::syscall(libc::SYS_mmap, [0, length as u64, protection, flags, u64::MAX, 0]) }
                .ok()?;
        match self.base.compare_exchange(0, fresh, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Some(fresh),
            Err(theirs) => {
                // SAFETY: the mapping just made, which nobody has seen.
                let _ = unsafe { raw::syscall(libc::SYS_munmap, [fresh, length as u64, 0, 0, 0, 0]) };
                Some(theirs)
            }
        }
    }

    /// Gives the mapping back.
    ///
    /// # Safety
    /// No thread is in a slot, nor will be.
    pub(super) unsafe fn unmap(&self, count: usize) {
        let base = self.base.swap(0, Ordering::AcqRel);
        if base != 0 {
            // SAFETY: exactly what `map` mapped; the caller's promise.
            let _ = unsafe { raw::syscall(libc::SYS_munmap, [base, (count * SLOT) as u64, 0, 0, 0, 0]) };
        }
    }

    /// Which slot `rip` is in, and how far.
    pub(super) fn find(&self, rip: RuntimeAddr) -> Option<(usize, u64)> {
        let base = self.base.load(Ordering::Acquire);
        let offset = rip.0.checked_sub(base).filter(|_| base != 0)?;
        Some(((offset / SLOT as u64) as usize, offset % SLOT as u64))
    }
}

/// What stands for an instruction elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Copy {
    pub(super) slot: [u8; SLOT],
    /// Where the program is that has left the slot's first instruction behind, and is in the slot still: before byte
    /// [`SECOND_EXIT`], and from there on.
    pub(super) exits: [RuntimeAddr; 2],
}

/// What a slot holds for the instruction at `home`, whose bytes `code` starts with; `None` where it would do something
/// else in another place.
///
/// # Signal safety
/// As [`decode`].
pub(super) fn copy(home: RuntimeAddr, code: &[u8], vendor: Vendor) -> Option<Copy> {
    let instruction = decode(code, home, vendor).ok()?;
    let behind = home.plus(instruction.len() as u64);
    let target = RuntimeAddr(instruction.near_branch_target());
    let own = code.get(..instruction.len())?;
    let to = |address: RuntimeAddr| address.0.to_le_bytes();
    let (parts, exits): ([&[u8]; 5], _) = match Class::of(&instruction) {
        // Where it stands shows.
        _ if instruction.is_ip_rel_memory_operand() => return None,
        Class::Plain | Class::Return | Class::Jump { indirect: true } => {
            ([own, &JUMP, &to(behind), &[], &[]], [behind; 2])
        }
        Class::Jump { indirect: false } => ([&JUMP, &to(target), &[], &[], &[]], [target; 2]),
        Class::Conditional if instruction.is_jcc_short_or_near() => {
            ([&short_jump(&instruction), &JUMP, &to(behind), &JUMP, &to(target)], [behind, target])
        }
        Class::Call { indirect: false } if instruction.code() == Code::Call_rel32_64 => {
            ([&PUSH, &JUMP, &to(target), &to(behind), &[]], [target; 2])
        }
        _ => return None,
    };
    let mut slot = [0; SLOT];
    for (to, from) in slot.iter_mut().zip(parts.iter().copied().flatten()) {
        *to = *from;
    }
    Some(Copy { slot, exits })
}

/// The conditional branch `instruction`, to the slot's second exit.
fn short_jump(instruction: &Instruction) -> [u8; 2] {
    // Conditions are numbered as they are encoded (SDM volume 2, appendix B.1.4.7), after one for none.
    let condition = (instruction.condition_code() as u8).wrapping_sub(1);
    [0x70 | condition & 0xf, SECOND_EXIT as u8 - 2]
}

/// The bytes of the instruction at `home`, at most up to the end of its page.
pub(super) fn code_at(home: RuntimeAddr, memory: OwnMemory) -> ([u8; MAX_LENGTH], usize) {
    let mut bytes = [0; MAX_LENGTH];
    let to_page_end = (PAGE - home.0 % PAGE) as usize;
    let lengths = [MAX_LENGTH, to_page_end.min(MAX_LENGTH)];
    let length = lengths
        .into_iter()
        .find(|length| bytes.get_mut(..*length).is_some_and(|part| memory.read(home, part)));
    (bytes, length.unwrap_or(0))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]
mod tests {
    use super::*;

    const HOME: RuntimeAddr = RuntimeAddr(0x1000);

    fn exits(code: &[u8]) -> Option<[u64; 2]> {
        copy(HOME, code, Vendor::Intel).map(|copy| copy.exits.map(|exit| exit.0))
    }

    #[test]
    fn only_what_means_the_same_elsewhere_is_copied() {
        assert_eq!(exits(&[0x53]), Some([0x1001; 2]), "push rbx");
        assert_eq!(exits(&[0xf3, 0x0f, 0x1e, 0xfa]), Some([0x1004; 2]), "endbr64");
        assert_eq!(exits(&[0x48, 0x8b, 0x07]), Some([0x1003; 2]), "mov rax, [rdi]");
        assert_eq!(exits(&[0xc3]), Some([0x1001; 2]), "ret");
        assert_eq!(exits(&[0xff, 0xe0]), Some([0x1002; 2]), "jmp rax");
        assert_eq!(exits(&[0x48, 0x8d, 0x05, 0, 0, 0, 0]), None, "lea rax, [rip]");
        assert_eq!(exits(&[0xff, 0x25, 0, 0, 0, 0]), None, "jmp [rip]");
        assert_eq!(exits(&[0xff, 0xd0]), None, "call rax");
        assert_eq!(exits(&[0xe2, 0]), None, "loop");
        assert_eq!(exits(&[0x0f, 0x05]), None, "syscall");
        assert_eq!(exits(&[0x0f, 0x0b]), None, "ud2");
    }

    #[test]
    fn a_copy_leads_to_where_its_original_does() {
        let slot = |code: &[u8]| copy(HOME, code, Vendor::Intel).unwrap().slot;
        let jump = |to: u64| [JUMP.as_slice(), &to.to_le_bytes()].concat();
        assert!(slot(&[0x53]).starts_with(&[[0x53].as_slice(), &jump(0x1001)].concat()), "push rbx");
        assert!(slot(&[0xeb, 0x10]).starts_with(&jump(0x1012)), "jmp");
        assert_eq!(exits(&[0xeb, 0x10]), Some([0x1012; 2]), "jmp");
        let call = [PUSH.as_slice(), &jump(0x0f05), &0x1005_u64.to_le_bytes()].concat();
        assert!(slot(&[0xe8, 0x00, 0xff, 0xff, 0xff]).starts_with(&call), "call");
        for (code, name) in [([0x75, 0x20].as_slice(), "jne"), (&[0x0f, 0x85, 0x1c, 0, 0, 0], "jne near")] {
            let behind = 0x1000 + code.len() as u64;
            let branch = [[0x75, 14].as_slice(), &jump(behind), &jump(0x1022)].concat();
            assert!(slot(code).starts_with(&branch), "{name}");
            assert_eq!(exits(code), Some([behind, 0x1022]), "{name}");
        }
    }
}
