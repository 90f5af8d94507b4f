//! Restartable sequences: stretches of code that the kernel restarts when a signal arrives in them (rseq(2),
//! Linux `Documentation/userspace-api/rseq.rst`). Stepped by signals, one would never end.

use std::ops::Range;

use super::decode::{MAX_LENGTH, Vendor, decode};
use super::elf::Elf;
use super::memory::Memory;
use super::module::Module;
use super::static_successor::{StaticSuccessors, static_successors};
use crate::address::{ElfAddr, RuntimeAddr};

/// The section that librseq, tcmalloc and others collect their descriptors in.
const SECTION: &str = "__rseq_cs";
/// `struct rseq_cs` (Linux `include/uapi/linux/rseq.h`): version and flags, then these three, eight bytes each.
const DESCRIPTOR: usize = 32;
/// Longer ones are no descriptors: real sections have a handful of instructions.
const MOST_BYTES: u64 = 4096;

/// One critical section, `[start, end)`, and where control can be after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestartableSection {
    pub start: RuntimeAddr,
    /// Behind the commit.
    pub end: RuntimeAddr,
    /// Where else it is left: by its own branches, and at last the abort handler.
    pub exits: Box<[RuntimeAddr]>,
}

impl RestartableSection {
    #[must_use]
    pub fn contains(&self, address: RuntimeAddr) -> bool {
        self.start <= address && address < self.end
    }
}

impl Elf {
    /// Where the descriptors lie, if the file has any.
    #[must_use]
    pub fn restartable_descriptors(&self) -> Option<Range<ElfAddr>> {
        let (header, _) = self.section(SECTION)?;
        Some(ElfAddr(header.sh_addr)..ElfAddr(header.sh_addr.checked_add(header.sh_size)?))
    }
}

/// The sections that a loaded module describes. Its descriptors are read from `memory`, where they are relocated.
#[must_use]
pub fn restartable_sections(
    module: &Module,
    memory: &impl Memory,
    vendor: Vendor,
) -> Vec<RestartableSection> {
    let Some(place) = module.elf.restartable_descriptors() else { return Vec::new() };
    let descriptors = (place.start.0..place.end.0).step_by(DESCRIPTOR);
    descriptors
        .filter_map(|at| {
            let mut bytes = [0; DESCRIPTOR];
            memory.read(ElfAddr(at).at(module.bias), &mut bytes).then_some(bytes)
        })
        .filter_map(|bytes| section(&bytes, memory, vendor))
        .collect()
}

fn section(
    descriptor: &[u8; DESCRIPTOR],
    memory: &impl Memory,
    vendor: Vendor,
) -> Option<RestartableSection> {
    let word = |index: usize| {
        let bytes = descriptor.get(index..index + 8)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    };
    let (start, length, abort) = (word(8)?, word(16)?, word(24)?);
    if start == 0 || !(1..=MOST_BYTES).contains(&length) {
        return None;
    }
    let (start, end) = (RuntimeAddr(start), RuntimeAddr(start.checked_add(length)?));
    let mut exits = branches_out(start..end, memory, vendor);
    if !exits.contains(&RuntimeAddr(abort)) {
        exits.push(RuntimeAddr(abort));
    }
    Some(RestartableSection { start, end, exits: exits.into() })
}

/// Targets of direct branches in `code` that leave it, but for its end.
fn branches_out(code: Range<RuntimeAddr>, memory: &impl Memory, vendor: Vendor) -> Vec<RuntimeAddr> {
    let mut found = Vec::new();
    let mut at = code.start;
    while at < code.end {
        let mut bytes = [0; MAX_LENGTH];
        if !memory.read(at, &mut bytes) {
            break;
        }
        let Ok(instruction) = decode(&bytes, at, vendor) else { break };
        let target = match static_successors(&instruction) {
            StaticSuccessors::Two { taken: target, .. } | StaticSuccessors::One(target) => Some(target),
            _ => None,
        };
        at = RuntimeAddr(instruction.next_ip());
        found.extend(target.filter(|to| !(code.start..=code.end).contains(to) && *to != at));
    }
    found.sort();
    found.dedup();
    found
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]
mod tests {
    use super::*;

    /// Code at 0x1000.
    struct Code(Vec<u8>);

    impl Memory for Code {
        fn read(&self, at: RuntimeAddr, into: &mut [u8]) -> bool {
            let from = (at.0 - 0x1000) as usize;
            for (index, byte) in into.iter_mut().enumerate() {
                *byte = self.0.get(from + index).copied().unwrap_or(0x90);
            }
            true
        }

        fn fs_base(&self) -> u64 {
            0
        }

        fn gs_base(&self) -> u64 {
            0
        }
    }

    fn descriptor(start: u64, length: u64, abort: u64) -> [u8; DESCRIPTOR] {
        let words = [0, start, length, abort].map(u64::to_le_bytes);
        words.concat().try_into().unwrap()
    }

    #[test]
    fn a_section_knows_where_it_is_left() {
        // nop; jne +0x20 (out); jne -3 (in); nop
        let code = Code(vec![0x90, 0x75, 0x20, 0x75, 0xfb, 0x90]);
        let found = section(&descriptor(0x1000, 6, 0x2000), &code, Vendor::Amd).unwrap();
        assert_eq!((found.start, found.end), (RuntimeAddr(0x1000), RuntimeAddr(0x1006)));
        assert_eq!(*found.exits, [RuntimeAddr(0x1023), RuntimeAddr(0x2000)]);
        assert!(found.contains(RuntimeAddr(0x1005)) && !found.contains(RuntimeAddr(0x1006)));
    }

    #[test]
    fn what_is_no_descriptor_is_left_out() {
        for (start, length) in [(0, 6), (0x1000, 0), (0x1000, MOST_BYTES + 1), (u64::MAX, 2)] {
            assert_eq!(section(&descriptor(start, length, 0x2000), &Code(vec![]), Vendor::Amd), None);
        }
    }
}
