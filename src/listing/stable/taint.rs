//! Which registers, flags and bytes hold what another run would not repeat.

use std::collections::HashSet;

use crate::registers::{R8, R9, R10, R11, RAX, RCX, RDI, RDX, RSI};

/// Bytes of memory that are told apart.
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
    memory: HashSet<u64>,
}

impl Taint {
    /// Everything is unknown but the arguments `known`.
    #[must_use]
    pub fn at_entry(known: &[usize]) -> Self {
        let mut taint = Self { registers: u16::MAX, vectors: 0, flags: u64::MAX, memory: HashSet::new() };
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
        !self.memory.is_empty() && granules(address, size).any(|granule| self.memory.contains(&granule))
    }

    pub fn set_memory(&mut self, address: u64, size: u64, tainted: bool) {
        for granule in granules(address, size) {
            if tainted {
                self.memory.insert(granule);
            } else if !self.memory.is_empty() {
                self.memory.remove(&granule);
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

/// At most as many as a page has: a length of nonsense must not take for ever.
fn granules(address: u64, size: u64) -> impl Iterator<Item = u64> {
    const MOST: u64 = 4096 / GRANULE;
    let first = address / GRANULE;
    let last = address.saturating_add(size.max(1) - 1) / GRANULE;
    first..=last.min(first + MOST)
}
