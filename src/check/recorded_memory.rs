//! Memory as one row recorded it.

use crate::address::RuntimeAddr;
use crate::image::memory::Memory;
use crate::record::step::{Access, MemoryAccess};

/// Answers from what an instruction read, and from nothing else.
///
/// A trace does not record segment bases; with the 0 answered for them, a branch through `fs:` or `gs:` asks for
/// an address that no operand has, and so remains unanswered instead of wrong.
#[derive(Clone, Copy, Debug)]
pub struct RecordedMemory<'a>(pub &'a [MemoryAccess]);

impl Memory for RecordedMemory<'_> {
    fn read(&self, at: RuntimeAddr, into: &mut [u8]) -> bool {
        let held = self.0.iter().filter(|operand| operand.access != Access::Write).find_map(|operand| {
            let start = usize::try_from(at.since(operand.address)).ok()?;
            operand.value.get(..usize::from(operand.size))?.get(start..start.checked_add(into.len())?)
        });
        if let Some(held) = held {
            into.copy_from_slice(held);
        }
        held.is_some()
    }

    fn fs_base(&self) -> u64 {
        0
    }

    fn gs_base(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_read_is_known() {
        let mut value = [0; 64];
        value[..8].copy_from_slice(&0x1122_3344_5566_7788_u64.to_le_bytes());
        let mut operand = MemoryAccess { access: Access::Read, address: RuntimeAddr(0x1000), size: 8, value };
        let read = |operand: MemoryAccess, at, length| {
            let mut into = vec![0; length];
            RecordedMemory(&[operand]).read(RuntimeAddr(at), &mut into).then_some(into)
        };
        assert_eq!(read(operand, 0x1000, 8).unwrap(), 0x1122_3344_5566_7788_u64.to_le_bytes());
        assert_eq!(read(operand, 0x1004, 4).unwrap(), 0x1122_3344_u32.to_le_bytes());
        assert_eq!(read(operand, 0x1004, 8), None, "past its end");
        assert_eq!(read(operand, 0xfff, 1), None, "before its start");
        operand.access = Access::Write;
        assert_eq!(read(operand, 0x1000, 8), None, "what was written is not what had been read");
    }
}
