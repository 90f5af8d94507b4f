//! Copies of the instructions under patches, each in a slot with a jump back: a thread runs the copy, and the patch stays
//! for the others.

#![allow(unsafe_code, reason = "executable memory is mapped by hand")]

use std::sync::atomic::{AtomicU64, Ordering};

use iced_x86::{Code, Instruction, Register};

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
/// What a patch is, and what ends the copy of an instruction that the trap flag does not stop behind.
pub(super) const INT3: u8 = 0xcc;
/// Behind a short jump, another jump, and where to.
pub(super) const SECOND_EXIT: u64 = 2 + JUMP.len() as u64 + 8;
const PAGE: u64 = 4096;

/// How far from the instructions copied there a mapping may be: what they address relative to RIP is within 2 GiB of them.
const REACH: u64 = 1 << 30;
/// Distances at which room is looked for below code, many and short enough to find it beside a large executable.
const STRIDE: u64 = 64 << 20;
/// Where there is room below an executable that is linked to a low address: above what mmap_min_addr forbids.
const LOW: u64 = 1 << 20;

/// The slots' mappings, each made when its first one is needed. All zeros is none.
pub(super) struct Slots {
    /// Where the kernel puts mappings, which is near all libraries; and near the first code that is far from there, which
    /// is the executable's. The second is the first where no room was found. ATOMICS: set once by compare-exchange; who loses
    /// unmaps its own.
    bases: [AtomicU64; 2],
}

impl Slots {
    /// Maps the first mapping for `count` slots. `None` where memory that can be executed is not to be had.
    ///
    /// # Signal safety
    /// mmap, the first time.
    pub(super) fn reserve(&self, count: usize) -> Option<u64> {
        let [base, _] = &self.bases;
        publish(base, length(count), || map(0, length(count)))
    }

    /// Slot `number` of `count`, for a copy of the instruction at `home`. `None` as for [`Self::reserve`].
    ///
    /// # Signal safety
    /// mmap, the first times.
    pub(super) fn slot(&self, number: usize, count: usize, home: RuntimeAddr) -> Option<RuntimeAddr> {
        let [_, beside] = &self.bases;
        let mut base = self.reserve(count)?;
        if base.abs_diff(home.0) >= REACH {
            base = publish(beside, length(count), || map_below(home, length(count)).or(Some(base)))?;
        }
        Some(RuntimeAddr(base + (number * SLOT) as u64))
    }

    /// Gives the mappings back.
    ///
    /// # Safety
    /// No thread is in a slot, nor will be.
    pub(super) unsafe fn unmap(&self, count: usize) {
        let [base, beside] = self.bases.each_ref().map(|base| base.swap(0, Ordering::AcqRel));
        unmap(base, length(count));
        if beside != base {
            unmap(beside, length(count));
        }
    }

    /// Which of `count` slots `rip` is in, and how far.
    pub(super) fn find(&self, rip: RuntimeAddr, count: usize) -> Option<(usize, u64)> {
        let mut bases = self.bases.iter().map(|base| base.load(Ordering::Acquire)).filter(|base| *base != 0);
        let offset =
            bases.find_map(|base| rip.0.checked_sub(base).filter(|offset| *offset < length(count)))?;
        Some(((offset / SLOT as u64) as usize, offset % SLOT as u64))
    }
}

/// What `base` holds, made by `make` if that is nothing yet.
fn publish(base: &AtomicU64, length: u64, make: impl FnOnce() -> Option<u64>) -> Option<u64> {
    let known = base.load(Ordering::Acquire);
    if known != 0 {
        return Some(known);
    }
    let fresh = make()?;
    match base.compare_exchange(0, fresh, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => Some(fresh),
        Err(theirs) => {
            if theirs != fresh {
                unmap(fresh, length);
            }
            Some(theirs)
        }
    }
}

/// Bytes of `count` slots.
const fn length(count: usize) -> u64 {
    (count * SLOT) as u64
}

/// Maps memory that can be executed: at `at`, if that is not 0 and free.
fn map(at: u64, length: u64) -> Option<u64> {
    let protection = (libc::PROT_READ | libc::PROT_EXEC) as u64;
    let place = if at == 0 { 0 } else { libc::MAP_FIXED_NOREPLACE };
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | place) as u64;
    // SAFETY: a fresh anonymous mapping; no existing memory is touched.
    unsafe { raw::syscall(libc::SYS_mmap, [at, length, protection, flags, u64::MAX, 0]) }.ok()
}

/// The same below `home` and within [`REACH`] of it. Above, it would be in the way of the heap.
fn map_below(home: RuntimeAddr, length: u64) -> Option<u64> {
    let page = home.0 & !(PAGE - 1);
    let below = (1..REACH / STRIDE).map_while(|turn| page.checked_sub(turn * STRIDE).filter(|at| *at >= LOW));
    let low = (page < REACH).then_some(LOW);
    below.chain(low).find_map(|at| {
        let mapped = map(at, length)?;
        // Linux before 4.17 does not know the flag, and takes the address for a hint.
        if mapped.abs_diff(home.0) < REACH {
            return Some(mapped);
        }
        unmap(mapped, length);
        None
    })
}

/// Gives back what was mapped; nothing at 0.
fn unmap(base: u64, length: u64) {
    if base != 0 {
        // SAFETY: exactly what `map` mapped, which nobody has seen or will use again.
        let _ = unsafe { raw::syscall(libc::SYS_munmap, [base, length, 0, 0, 0, 0]) };
    }
}

/// What stands for an instruction elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Copy {
    pub(super) slot: [u8; SLOT],
    /// Where the program is that has left the slot's first instruction behind, and is in the slot still: before byte
    /// [`SECOND_EXIT`], and from there on.
    pub(super) exits: [RuntimeAddr; 2],
    /// The thread is stopped there, by a breakpoint instruction.
    pub(super) stops: bool,
}

/// What the slot at `place` holds for the instruction at `home`, whose bytes `code` starts with; `None` where it would do
/// something else in another place.
///
/// # Signal safety
/// As [`decode`].
pub(super) fn copy(home: RuntimeAddr, place: RuntimeAddr, code: &[u8], vendor: Vendor) -> Option<Copy> {
    let instruction = decode(code, home, vendor).ok()?;
    let behind = home.plus(instruction.len() as u64);
    let target = RuntimeAddr(instruction.near_branch_target());
    let mut own = [0; MAX_LENGTH];
    let own = own.get_mut(..instruction.len())?;
    own.copy_from_slice(code.get(..instruction.len())?);
    if instruction.is_ip_rel_memory_operand() {
        address_from(place, own, &instruction)?;
    }
    let own: &[u8] = own;
    let to = |address: RuntimeAddr| address.0.to_le_bytes();
    let class = Class::of(&instruction);
    let stops = matches!(class, Class::Syscall | Class::RepString);
    let (parts, exits): ([&[u8]; 5], _) = match class {
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
        // Only the trap tells the thread to go home, and rcx behind `syscall` with it.
        _ if stops => ([own, &[INT3], &[], &[], &[]], [behind; 2]),
        _ => return None,
    };
    let mut slot = [0; SLOT];
    for (to, from) in slot.iter_mut().zip(parts.iter().copied().flatten()) {
        *to = *from;
    }
    Some(Copy { slot, exits, stops })
}

/// Has the bytes `own` of `instruction` address the same memory from `place`. `None` where that is too far, or the place
/// of the displacement is not certain: it is known by its value.
fn address_from(place: RuntimeAddr, own: &mut [u8], instruction: &Instruction) -> Option<()> {
    if instruction.memory_base() != Register::RIP {
        return None;
    }
    let relative_to =
        |behind: u64| i32::try_from(instruction.ip_rel_memory_address().wrapping_sub(behind) as i64);
    let here = relative_to(instruction.next_ip()).ok()?.to_le_bytes();
    let there = relative_to(place.0 + own.len() as u64).ok()?.to_le_bytes();
    let mut places = (0..own.len()).filter(|at| own.get(*at..).is_some_and(|rest| rest.starts_with(&here)));
    let (at, None) = (places.next()?, places.next()) else { return None };
    own.get_mut(at..at + there.len())?.copy_from_slice(&there);
    Some(())
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
    const PLACE: RuntimeAddr = RuntimeAddr(0x9000);

    fn exits(code: &[u8]) -> Option<[u64; 2]> {
        copy(HOME, PLACE, code, Vendor::Intel).map(|copy| copy.exits.map(|exit| exit.0))
    }

    #[test]
    fn only_what_means_the_same_elsewhere_is_copied() {
        assert_eq!(exits(&[0x53]), Some([0x1001; 2]), "push rbx");
        assert_eq!(exits(&[0xf3, 0x0f, 0x1e, 0xfa]), Some([0x1004; 2]), "endbr64");
        assert_eq!(exits(&[0x48, 0x8b, 0x07]), Some([0x1003; 2]), "mov rax, [rdi]");
        assert_eq!(exits(&[0xc3]), Some([0x1001; 2]), "ret");
        assert_eq!(exits(&[0xff, 0xe0]), Some([0x1002; 2]), "jmp rax");
        assert_eq!(exits(&[0xff, 0x15, 0, 1, 0, 0]), None, "call [rip + 0x100]");
        assert_eq!(exits(&[0x67, 0x8b, 0x05, 0, 1, 0, 0]), None, "mov eax, [eip + 0x100]");
        assert_eq!(exits(&[0xff, 0xd0]), None, "call rax");
        assert_eq!(exits(&[0xe2, 0]), None, "loop");
        assert_eq!(exits(&[0x0f, 0x05]), Some([0x1002; 2]), "syscall");
        assert_eq!(exits(&[0x0f, 0x0b]), None, "ud2");
    }

    #[test]
    fn a_copy_addresses_what_its_original_does() {
        let slot = |code: &[u8]| copy(HOME, PLACE, code, Vendor::Intel).unwrap().slot;
        let moved = |code: &[u8], displacement: i32| [code, &displacement.to_le_bytes()].concat();
        assert!(
            slot(&[0x48, 0x8d, 0x05, 0, 1, 0, 0]).starts_with(&moved(&[0x48, 0x8d, 0x05], -0x7f00)),
            "lea"
        );
        assert!(slot(&[0xff, 0x25, 0, 1, 0, 0]).starts_with(&moved(&[0xff, 0x25], -0x7f00)), "jmp");
        let compared = [moved(&[0x83, 0x3d], -0x7f00).as_slice(), &[7]].concat();
        assert!(slot(&[0x83, 0x3d, 0, 1, 0, 0, 7]).starts_with(&compared), "cmp dword ptr [rip + 0x100], 7");
        // mov dword ptr [rip + 0x100], 0x100: which of the two is the displacement is not seen.
        assert_eq!(exits(&[0xc7, 0x05, 0, 1, 0, 0, 0, 1, 0, 0]), None);
        let far = RuntimeAddr(0x7f00_0000_0000);
        let lea = [0x48, 0x8d, 0x05, 0, 1, 0, 0];
        assert_eq!(copy(HOME, far, &lea, Vendor::Intel), None, "too far");
    }

    #[test]
    fn what_the_trap_flag_does_not_stop_behind_ends_in_a_breakpoint() {
        for (code, stops) in [([0x0f, 0x05], true), ([0xf3, 0xa4], true), ([0xff, 0xe0], false)] {
            let copy = copy(HOME, PLACE, &code, Vendor::Intel).unwrap();
            assert_eq!(copy.stops, stops, "{code:x?}");
            assert_eq!(copy.slot.starts_with(&[code[0], code[1], INT3]), stops, "{code:x?}");
        }
    }

    #[test]
    fn slots_lie_within_reach_of_the_code() {
        let slots = Slots { bases: [const { AtomicU64::new(0) }; 2] };
        let executable = RuntimeAddr(slots_lie_within_reach_of_the_code as *const () as u64);
        let near_libraries = slots.slot(3, 8, RuntimeAddr(slots.reserve(8).unwrap())).unwrap();
        let beside = slots.slot(3, 8, executable).unwrap();
        assert!(beside.0.abs_diff(executable.0) < REACH, "{beside} for {executable}");
        assert_eq!(slots.find(near_libraries.plus(5), 8), Some((3, 5)));
        assert_eq!(slots.find(beside.plus(5), 8), Some((3, 5)));
        assert_eq!(slots.find(executable, 8), None);
        // SAFETY: nothing runs in them.
        unsafe { slots.unmap(8) };
        assert_eq!(slots.find(beside, 8), None);
    }

    #[test]
    fn a_copy_leads_to_where_its_original_does() {
        let slot = |code: &[u8]| copy(HOME, PLACE, code, Vendor::Intel).unwrap().slot;
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
