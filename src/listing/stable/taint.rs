//! Which registers, flags and bytes hold what another run would not repeat.

use std::collections::HashMap;

use crate::registers::{R8, R9, R10, R11, RAX, RCX, RDI, RDX, RSI};

/// Bytes of memory that are looked up at once.
const GRANULE: u64 = 8;

/// What a function may leave in any state (System V ABI, figure 3.4), but for the result.
const SCRATCH: [usize; 8] = [RCX, RDX, RSI, RDI, R8, R9, R10, R11];

/// The state of one thread.
#[derive(Clone, Debug, Default)]
pub struct Taint {
    registers: u16,
    vectors: u32,
    /// RFLAGS bits whose values chance decides, or the ISA leaves undefined.
    pub flags: u64,
    /// By granule, its tainted bytes, a bit each: a number may be written over half of what was a pointer.
    memory: HashMap<u64, u8>,
}

impl Taint {
    /// Everything is unknown but the arguments `known`.
    #[must_use]
    pub fn at_entry(known: &[usize]) -> Self {
        let mut taint = Self { registers: u16::MAX, vectors: 0, flags: u64::MAX, memory: HashMap::new() };
        for register in known {
            taint.set_register(*register, false);
        }
        taint
    }

    #[must_use]
    pub const fn register(&self, index: usize) -> bool {
        self.registers >> index & 1 != 0
    }

    /// All general registers, a bit each.
    #[must_use]
    pub const fn registers(&self) -> u16 {
        self.registers
    }

    pub const fn set_register(&mut self, index: usize, tainted: bool) {
        self.registers = self.registers & !(1 << index) | (tainted as u16) << index;
    }

    #[must_use]
    pub const fn vector(&self, index: usize) -> bool {
        self.vectors >> (index & 31) & 1 != 0
    }

    pub const fn set_vector(&mut self, index: usize, tainted: bool) {
        self.vectors = self.vectors & !(1 << (index & 31)) | (tainted as u32) << (index & 31);
    }

    #[must_use]
    pub fn memory(&self, address: u64, size: u64) -> bool {
        let tainted =
            |(granule, bytes): (u64, u8)| self.memory.get(&granule).is_some_and(|it| it & bytes != 0);
        !self.memory.is_empty() && granules(address, size).any(tainted)
    }

    pub fn set_memory(&mut self, address: u64, size: u64, tainted: bool) {
        for (granule, bytes) in granules(address, size) {
            if tainted {
                *self.memory.entry(granule).or_default() |= bytes;
            } else if let Some(known) = self.memory.get_mut(&granule) {
                *known &= !bytes;
                if *known == 0 {
                    self.memory.remove(&granule);
                }
            }
        }
    }

    /// Control was out of scope: what a function may overwrite holds nobody knows what.
    pub fn ran_natively(&mut self, result_tainted: bool) {
        for register in SCRATCH {
            self.set_register(register, true);
        }
        self.set_register(RAX, result_tainted);
        self.vectors = !1;
        self.flags = u64::MAX;
    }
}

/// Granules and the bytes of each that belong to the range. At most as many as a page has: a length of nonsense must not take
/// for ever.
fn granules(address: u64, size: u64) -> impl Iterator<Item = (u64, u8)> {
    const MOST: u64 = 4096 / GRANULE;
    let last_byte = address.saturating_add(size.max(1) - 1);
    let first = address / GRANULE;
    let last = last_byte / GRANULE;
    (first..=last.min(first + MOST)).map(move |granule| {
        let from = if granule == first { address % GRANULE } else { 0 };
        let to = if granule == last { last_byte % GRANULE } else { GRANULE - 1 };
        (granule, (u8::MAX << from) & (u8::MAX >> (GRANULE - 1 - to)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_told_apart_by_bytes() {
        let mut taint = Taint::default();
        taint.set_memory(0x1004, 8, true);
        taint.set_memory(0x1008, 4, false);
        assert!(taint.memory(0x1000, 8), "its upper half");
        assert!(!taint.memory(0x1000, 4));
        assert!(!taint.memory(0x1008, 8));
        taint.set_memory(0x1004, 4, false);
        assert!(!taint.memory(0x1000, 16));
        taint.set_memory(0x1007, 1, true);
        assert!(taint.memory(0x1000, 32) && !taint.memory(0x1000, 7));
    }
}
