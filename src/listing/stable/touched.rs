//! The memory that an instruction touches, and what is known of what lies there.

use iced_x86::{Instruction, Mnemonic, OpKind, Register};

use super::known::Known;
use super::operand_kinds::general;
use super::regions::Regions;
use super::shadow::Shadow;
use super::tag::{Tag, Value, WIDEST};
use crate::check::recorded_memory::RecordedMemory;
use crate::image::operands::{self, operands};
use crate::record::reader::StepEntry;
use crate::record::step::{Access, MemoryAccess, RegisterChange};

/// Offsets from fs of the stack guard and the pointer guard (glibc `sysdeps/x86_64/nptl/tls.h`, tcbhead_t).
const GUARDS: [u64; 2] = [0x28, 0x30];

/// An operand in memory.
#[derive(Clone, Copy, Debug)]
pub struct Touched {
    pub access: Access,
    pub address: u64,
    pub size: usize,
    /// What was read, or left there by a write; where that is known.
    bytes: Option<[u8; WIDEST]>,
}

impl Touched {
    /// As the trace has it.
    #[must_use]
    pub fn recorded(memory: &MemoryAccess) -> Self {
        Self {
            access: memory.access,
            address: memory.address.0,
            size: usize::from(memory.size),
            bytes: Some(memory.value),
        }
    }

    /// The eight bytes at this offset as a number.
    fn word(&self, offset: usize) -> Option<u64> {
        let bytes = self.bytes.as_ref().filter(|_| offset + 8 <= self.size)?.get(offset..offset + 8)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    }

    /// All of a value of at most eight bytes.
    #[must_use]
    pub fn number(&self) -> Option<u64> {
        let bytes = self.bytes.as_ref()?.get(..self.size).filter(|bytes| bytes.len() <= 8)?;
        Some(bytes.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte)))
    }

    /// What is known of what lies there. Bytes that nobody wrote in sight are an address if they look like a whole one.
    #[must_use]
    pub fn read(&self, memory: &Shadow, regions: &Regions) -> Value {
        let words: [_; WIDEST / 8] = std::array::from_fn(|i| {
            let (at, word) = (self.address.wrapping_add(8 * i as u64), self.word(8 * i));
            word.map_or(Value::number(8), |word| match regions.is_hidden_link(at, word) {
                true => Value::of(Tag::Outside, 8),
                false => regions.adopt(word),
            })
        });
        let mut value = memory.read(self.address, self.size, |at| {
            words.get(at / 8).and_then(|word| word.tags().get(at % 8)).copied().unwrap_or_default()
        });
        // As in registers, a whole number is an address if it looks like one.
        for (at, word) in
            (0..self.size).step_by(8).zip(&words).filter(|(_, word)| word.as_address().is_some())
        {
            if at + 8 <= self.size && value.part(at, 8).is_number() {
                value = value.with(at, word);
            }
        }
        value
    }
}

/// The explicit operands in their order, then the stack: as recorded, or by the registers.
#[must_use]
pub fn touched(
    instruction: &Instruction,
    step: &StepEntry,
    change: Option<&RegisterChange>,
    known: &Known,
) -> Vec<Touched> {
    if !step.memory.is_empty() {
        return step.memory.iter().map(Touched::recorded).collect();
    }
    let Some(before) = change.map(|change| change.before).or_else(|| known.for_addresses(instruction)) else {
        return Vec::new();
    };
    // A plain load leaves in its register what it read.
    let moves = matches!(instruction.mnemonic(), Mnemonic::Mov | Mnemonic::Movsxd | Mnemonic::Pop);
    let index = general(instruction.op0_register()).filter(|_| moves && instruction.op_count() > 0);
    let loaded = index.and_then(|index| Some(change?.after.general[index]));
    let operands = operands(instruction, &before, &RecordedMemory(&[]));
    let touched = operands.as_slice().iter().map(|it| {
        let access = match it.access {
            operands::Access::Read => Access::Read,
            operands::Access::Write => Access::Write,
            operands::Access::ReadWrite => Access::ReadWrite,
        };
        let bytes = loaded.filter(|_| access == Access::Read).map(|value| {
            let mut bytes = [0; WIDEST];
            bytes[..8].copy_from_slice(&value.to_le_bytes());
            bytes
        });
        Touched { access, address: it.address.0, size: usize::from(it.size), bytes }
    });
    touched.collect()
}

/// Whether what is read is one of those that the C library keeps and no two processes share: the stack guard, the pointer guard,
/// the thread's id, a key that it drew; or the kernel's clock.
#[must_use]
pub fn is_secret(
    instruction: &Instruction,
    step: &StepEntry,
    touched: &[Touched],
    regions: &Regions,
) -> bool {
    let read = || touched.iter().filter(|it| it.access != Access::Write);
    let has_memory = (0..instruction.op_count()).any(|i| instruction.op_kind(i) == OpKind::Memory);
    if has_memory && instruction.segment_prefix() == Register::FS {
        let guard = instruction.memory_base() == Register::None
            && GUARDS.contains(&instruction.memory_displacement64());
        return guard || read().any(|it| it.number() == Some(u64::from(step.thread)));
    }
    read().any(|it| {
        let drawn = |value: u64| is_drawn(value) && !regions.is_address(value);
        regions.is_clock(it.address)
            || it.size == 8 && regions.is_library_data(it.address) && it.number().is_some_and(drawn)
    })
}

/// What the C library draws by chance, such as malloc's key for freed chunks, and pointers that it mangles fill a word;
/// nothing else does in its data.
const fn is_drawn(value: u64) -> bool {
    const LARGEST_ADDRESS: u64 = 1 << 48;
    const SMALLEST_NEGATIVE: u64 = (1_u64 << 32).wrapping_neg();
    LARGEST_ADDRESS <= value && value < SMALLEST_NEGATIVE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_neither_small_numbers_nor_addresses() {
        for key in [0x1ec3_bfb5_cd63_adf5, 0xdd39_00ae_3a2e_b3fb, 0xffff_e8b9_7690_ff27] {
            assert!(is_drawn(key), "{key:#x}");
        }
        for number in [0, 1, 0x7fff_ffff_ffff, u64::MAX, (-4096_i64) as u64] {
            assert!(!is_drawn(number), "{number:#x}");
        }
    }
}
