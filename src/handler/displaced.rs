//! Copies of the instructions under patches, each in a slot with a jump back: a thread runs the copy, and the patch stays
//! for the others.

#![allow(unsafe_code, reason = "executable memory is mapped by hand")]

use std::sync::atomic::{AtomicU64, Ordering};

use iced_x86::{Instruction, Mnemonic, OpKind};

use crate::address::RuntimeAddr;
use crate::image::class::Class;
use crate::image::decode::{MAX_LENGTH, Vendor, decode};
use crate::image::memory::{Memory, OwnMemory};
use crate::raw;

/// Bytes of a slot: the longest instruction, `jmp [rip]`, and where to.
pub(super) const SLOT: usize = 32;
/// `jmp qword ptr [rip + 0]`.
const JUMP: [u8; 6] = [0xff, 0x25, 0, 0, 0, 0];
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

/// What a slot holds for the instruction at `home`, whose bytes `code` starts with, and the instruction's length; `None`
/// where it would do something else in another place.
///
/// # Signal safety
/// As [`decode`].
pub(super) fn copy(home: RuntimeAddr, code: &[u8], vendor: Vendor) -> Option<([u8; SLOT], usize)> {
    let instruction = decode(code, home, vendor).ok().filter(is_movable)?;
    let length = instruction.len();
    let back = home.plus(length as u64).0.to_le_bytes();
    let bytes = code.iter().take(length).chain(&JUMP).chain(&back);
    let mut slot = [0; SLOT];
    for (to, from) in slot.iter_mut().zip(bytes) {
        *to = *from;
    }
    Some((slot, length))
}

/// Neither where it stands nor, by a fault, where it has stood may show: no branch, and no memory but by a push.
fn is_movable(instruction: &Instruction) -> bool {
    let memory = (0..instruction.op_count()).any(|operand| instruction.op_kind(operand) == OpKind::Memory);
    let relative = instruction.is_ip_rel_memory_operand();
    let faults =
        matches!(instruction.mnemonic(), Mnemonic::Div | Mnemonic::Idiv | Mnemonic::Pop | Mnemonic::Leave);
    let plain = Class::of(instruction) == Class::Plain;
    plain && !faults && !relative && (!memory || instruction.mnemonic() == Mnemonic::Lea)
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

    #[test]
    fn only_what_means_the_same_elsewhere_is_copied() {
        let home = RuntimeAddr(0x1000);
        let length = |code: &[u8]| copy(home, code, Vendor::Intel).map(|(_, length)| length);
        assert_eq!(length(&[0x53]), Some(1), "push rbx");
        assert_eq!(length(&[0xf3, 0x0f, 0x1e, 0xfa]), Some(4), "endbr64");
        assert_eq!(length(&[0x48, 0x8d, 0x44, 0x24, 0x08]), Some(5), "lea rax, [rsp + 8]");
        assert_eq!(length(&[0x48, 0x8d, 0x05, 0, 0, 0, 0]), None, "lea rax, [rip]");
        assert_eq!(length(&[0x48, 0x8b, 0x07]), None, "mov rax, [rdi] may fault");
        assert_eq!(length(&[0xe8, 0, 0, 0, 0]), None, "call");
        assert_eq!(length(&[0x0f, 0x05]), None, "syscall");
        let (slot, _) = copy(home, &[0x53], Vendor::Intel).unwrap();
        assert_eq!(slot[..15], [0x53, 0xff, 0x25, 0, 0, 0, 0, 0x01, 0x10, 0, 0, 0, 0, 0, 0]);
    }
}
