//! The dynamic section, read through program headers alone.

use super::elf::{Segment, slice, string};
use crate::address::ElfAddr;
use goblin::container::Ctx;
use goblin::elf::ProgramHeader;
use goblin::elf::dynamic::{
    DF_1_PIE, DT_FLAGS_1, DT_GNU_HASH, DT_HASH, DT_JMPREL, DT_NEEDED, DT_NULL, DT_PLTRELSZ, DT_RELA,
    DT_RELASZ, DT_SONAME, DT_STRSZ, DT_STRTAB, DT_SYMTAB, DT_VERDEF, DT_VERSYM,
};
use goblin::elf::program_header::PT_DYNAMIC;
use goblin::elf::reloc::RelocSection;
use goblin::elf::sym::{Sym, Symtab};

/// (tag, value) pairs up to DT_NULL; empty for a file without a dynamic section or with one that is cut off.
#[derive(Debug, Default)]
pub(super) struct Dynamic {
    entries: Vec<(u64, u64)>,
    segments: Vec<Segment>,
    context: Ctx,
}

impl Dynamic {
    pub(super) fn parse(file: &[u8], programs: &[ProgramHeader], segments: &[Segment], context: Ctx) -> Self {
        let program = programs.iter().find(|p| p.p_type == PT_DYNAMIC);
        let bytes = program.and_then(|p| slice(file, p.p_offset, p.p_filesz)).unwrap_or(&[]);
        let word = if context.is_big() { 8 } else { 4 };
        let entries = bytes
            .chunks_exact(2 * word)
            .map(|pair| (number(&pair[..word]), number(&pair[word..])))
            .take_while(|&(tag, _)| tag != DT_NULL)
            .collect();
        Self { entries, segments: segments.to_vec(), context }
    }

    pub(super) fn is_pie(&self) -> bool {
        self.value(DT_FLAGS_1).is_some_and(|flags| flags & DF_1_PIE != 0)
    }

    pub(super) fn needed<'a>(&self, file: &'a [u8]) -> Vec<&'a str> {
        let offsets = self.entries.iter().filter(|(tag, _)| *tag == DT_NEEDED).map(|&(_, value)| value);
        offsets.filter_map(|offset| self.name(file, offset)).collect()
    }

    pub(super) fn soname<'a>(&self, file: &'a [u8]) -> Option<&'a str> {
        self.name(file, self.value(DT_SONAME)?)
    }

    /// The string table that symbol names point into.
    pub(super) fn strings<'a>(&self, file: &'a [u8]) -> Option<&'a [u8]> {
        slice(file, self.offset(DT_STRTAB)?, self.value(DT_STRSZ)?)
    }

    /// Every dynamic symbol, as far as anything says how many there are: the hash tables, and relocations by index. A GNU table
    /// knows of no undefined symbol behind the defined ones, and of none at all where nothing is defined (binutils
    /// `bfd/elflink.c`): an executable that exports nothing.
    pub(super) fn symbols<'a>(&self, file: &'a [u8]) -> Option<Symtab<'a>> {
        let relocations = self.relocations(file);
        let indices = relocations.iter().flat_map(|section| section.iter().map(|it| it.r_sym as u64 + 1));
        let hashed = self.symbol_count(file);
        // A damaged relocation may have any index.
        let counts = [hashed.into_iter().chain(indices).max(), hashed];
        counts.into_iter().flatten().find_map(|count| self.first_symbols(file, count))
    }

    /// The relocations of the PLT's slots, then all others; only RELA, as x86_64 has no other.
    pub(super) fn relocations<'a>(&self, file: &'a [u8]) -> Vec<RelocSection<'a>> {
        let tables = [(DT_JMPREL, DT_PLTRELSZ), (DT_RELA, DT_RELASZ)];
        let bytes =
            tables.iter().filter_map(|&(start, size)| slice(file, self.offset(start)?, self.value(size)?));
        bytes.filter_map(|b| RelocSection::parse(b, 0, b.len(), true, self.context).ok()).collect()
    }

    /// The table of version numbers, one a symbol, and the definitions of versions, each with the rest of the file behind it.
    pub(super) fn versions<'a>(&self, file: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
        let from = |tag| file.get(usize::try_from(self.offset(tag)?).ok()?..);
        Some((from(DT_VERSYM)?, from(DT_VERDEF)?))
    }

    fn first_symbols<'a>(&self, file: &'a [u8], count: u64) -> Option<Symtab<'a>> {
        let size = count.checked_mul(Sym::size(self.context.container) as u64)?;
        let table = slice(file, self.offset(DT_SYMTAB)?, size)?;
        Symtab::parse(table, 0, usize::try_from(count).ok()?, self.context).ok()
    }

    fn symbol_count(&self, file: &[u8]) -> Option<u64> {
        // DT_HASH: buckets, chains; there are as many chains as symbols (System V ABI, "Hash Table").
        if let Some(hash) = self.offset(DT_HASH) {
            return slice(file, hash.checked_add(4)?, 4).map(number);
        }
        gnu_hash_count(file, self.offset(DT_GNU_HASH)?, if self.context.is_big() { 8 } else { 4 })
    }

    fn name<'a>(&self, file: &'a [u8], offset: u64) -> Option<&'a str> {
        std::str::from_utf8(string(self.strings(file)?, offset)?).ok()
    }

    fn value(&self, tag: u64) -> Option<u64> {
        self.entries.iter().find(|(t, _)| *t == tag).map(|&(_, value)| value)
    }

    /// The file offset of the address that an entry holds.
    fn offset(&self, tag: u64) -> Option<u64> {
        let address = ElfAddr(self.value(tag)?);
        let segment = self.segments.iter().find(|s| s.covers(address))?;
        segment.offset.0.checked_add(address.0 - segment.start.0)
    }
}

/// The highest symbol any bucket's chain reaches, plus one. Layout: bucket count, first symbol, bloom words,
/// bloom shift; the bloom filter; the buckets; one chain word per symbol from the first, whose low bit ends a
/// chain (glibc `elf/dl-lookup.c`).
fn gnu_hash_count(file: &[u8], offset: u64, word: u64) -> Option<u64> {
    let field = |at: u64| slice(file, offset.checked_add(at)?, 4).map(number);
    let (buckets, first, bloom) = (field(0)?, field(4)?, field(8)?);
    let buckets_at = 16 + bloom * word;
    let table = slice(file, offset.checked_add(buckets_at)?, buckets * 4)?;
    let Some(last) = table.chunks_exact(4).map(number).max().filter(|&symbol| symbol >= first) else {
        return Some(first);
    };
    let chains = file.get(usize::try_from(offset.checked_add(buckets_at + buckets * 4)?).ok()?..)?;
    let tail = chains.get(usize::try_from((last - first) * 4).ok()?..)?;
    let length = tail.chunks_exact(4).position(|chain| number(chain) & 1 == 1)?;
    Some(last + length as u64 + 1)
}

/// A little-endian number of up to 8 bytes.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}
