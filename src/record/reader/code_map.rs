//! Code blocks by address.

use super::entry::CodeBytes;
use crate::address::RuntimeAddr;
use crate::record::code::{BLOCK, BlockBits};
use crate::record::step::MAX_INSTRUCTION;

/// What the ELF file's instruction map says about an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boundary {
    /// An instruction starts here.
    Start,
    /// Inside an instruction.
    Inside,
    /// The map says nothing: no such code recorded, or no symbol bounds there.
    Unknown,
}

/// One block of executed code.
#[derive(Debug)]
pub(super) struct Block {
    pub address: RuntimeAddr,
    pub module: Option<u32>,
    pub bytes: Box<[u8; BLOCK]>,
    pub known: BlockBits,
    pub start: BlockBits,
    pub differs: BlockBits,
}

/// Blocks in order of address, each address once: the first one recorded counts.
#[derive(Debug, Default)]
pub(super) struct CodeMap {
    blocks: Vec<Block>,
}

/// Where the last look-up ended, since most rows lie in their predecessor's block.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hint(usize);

impl CodeMap {
    pub(super) fn new(mut blocks: Vec<Block>) -> Self {
        blocks.sort_by_key(|block| block.address); // stable: the first recorded stays first
        blocks.dedup_by_key(|block| block.address);
        Self { blocks }
    }

    /// Where the blocks begin.
    pub(super) fn addresses(&self) -> impl Iterator<Item = RuntimeAddr> {
        self.blocks.iter().map(|block| block.address)
    }

    /// Up to fifteen bytes from `address` on, across two blocks where both are there.
    pub(super) fn bytes(&self, address: RuntimeAddr, hint: &mut Hint) -> CodeBytes {
        let mut bytes = CodeBytes::default();
        let Some((block, index)) = self.block(address, hint) else { return bytes };
        bytes.extend(&block.bytes[offset(address)..]);
        if bytes.len() < MAX_INSTRUCTION
            && let Some(next) = self.blocks.get(index + 1)
            && next.address == block.address.plus(BLOCK as u64)
        {
            bytes.extend(&next.bytes[..]);
        }
        bytes
    }

    /// Whether any of the `length` bytes at `address` is recorded as different from the file's.
    pub(super) fn differs(&self, address: RuntimeAddr, length: u64, hint: &mut Hint) -> bool {
        (0..length.min(MAX_INSTRUCTION as u64)).any(|byte| {
            let address = address.plus(byte);
            self.block(address, hint).is_some_and(|(block, _)| bit(&block.differs, offset(address)))
        })
    }

    pub(super) fn boundary(&self, address: RuntimeAddr, hint: &mut Hint) -> Boundary {
        match self.block(address, hint) {
            Some((block, _)) if bit(&block.known, offset(address)) => {
                if bit(&block.start, offset(address)) {
                    Boundary::Start
                } else {
                    Boundary::Inside
                }
            }
            _ => Boundary::Unknown,
        }
    }

    /// The block that `address` lies in, and its index.
    pub(super) fn block(&self, address: RuntimeAddr, hint: &mut Hint) -> Option<(&Block, usize)> {
        let wanted = RuntimeAddr(address.0 & !(BLOCK as u64 - 1));
        if let Some(block) = self.blocks.get(hint.0)
            && block.address == wanted
        {
            return Some((block, hint.0));
        }
        let index = self.blocks.binary_search_by_key(&wanted, |block| block.address).ok()?;
        hint.0 = index;
        self.blocks.get(index).map(|block| (block, index))
    }
}

fn offset(address: RuntimeAddr) -> usize {
    address.0 as usize % BLOCK
}

fn bit(bits: &BlockBits, place: usize) -> bool {
    bits[place / 8] >> (place % 8) & 1 != 0
}
