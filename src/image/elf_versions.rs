//! Symbol versions: which `memcpy` an entry of `.dynsym` is (LSB Core, "Symbol Versioning").

use super::elf::{Elf, slice, string};
use std::collections::HashMap;

/// Set where the version is not the one that a program gets which is linked now.
const HIDDEN: u16 = 0x8000;
/// The first index that stands for a version; those below are for local and unversioned symbols.
const FIRST: u16 = 2;

/// The versions that a file defines, and which of its dynamic symbols has which.
#[derive(Debug, Default)]
pub(super) struct Versions<'a> {
    /// A number for each symbol.
    numbers: &'a [u8],
    names: HashMap<u16, &'a [u8]>,
}

impl<'a> Versions<'a> {
    /// Of the dynamic symbols of `elf`; without versions where the file has none, or damaged ones.
    pub(super) fn of(elf: &'a Elf) -> Self {
        Self::read(elf).unwrap_or_default()
    }

    fn read(elf: &'a Elf) -> Option<Self> {
        let file = elf.file_bytes();
        let (numbers, definitions) = elf.dynamic().versions(file)?;
        let strings = elf.dynamic().strings(file)?;
        let mut names = HashMap::new();
        let mut at = 0_u64;
        // Elf64_Verdef: version, flags, index, count (two bytes each), hash, place of the names, place of the next; of the
        // names, the first is its own.
        while let Some(definition) = slice(definitions, at, 20) {
            let index = u16::from_le_bytes([definition[4], definition[5]]) & !HIDDEN;
            let name = slice(definitions, at + u64::from(word(definition, 12)?), 8)?;
            names.insert(index, string(strings, word(name, 0)?.into())?);
            match word(definition, 16)? {
                0 => break,
                next => at += u64::from(next),
            }
        }
        Some(Self { numbers, names })
    }

    /// `@VERSION`, or `@@VERSION` of the default, of the symbol at `index` of the table.
    pub(super) fn suffix(&self, index: usize) -> Option<String> {
        let number = self.numbers.get(2 * index..)?.first_chunk().map(|it| u16::from_le_bytes(*it))?;
        let name = self.names.get(&(number & !HIDDEN)).filter(|_| number & !HIDDEN >= FIRST)?;
        let at = if number & HIDDEN == 0 { "@@" } else { "@" };
        Some(format!("{at}{}", String::from_utf8_lossy(name)))
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|it| u32::from_le_bytes(*it))
}
