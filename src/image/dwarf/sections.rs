//! The debug sections of one file, decompressed where they have to be.

use super::compression::{decompress, decompress_gnu};
use super::error::DebugError;
use super::info::DebugInfo;
use crate::image::elf::Elf;
use gimli::{DwarfSections, EndianSlice, LittleEndian, SectionId};
use goblin::elf::section_header::SHF_COMPRESSED;
use std::borrow::Cow;

/// Sections that are not there are empty, as DWARF allows.
pub struct DebugSections<'e> {
    sections: DwarfSections<Cow<'e, [u8]>>,
}

impl<'e> DebugSections<'e> {
    /// Reads the sections of `elf`; `None` where it has no debug information.
    ///
    /// # Errors
    /// [`DebugError`]: a section cannot be decompressed.
    pub fn of(elf: &'e Elf) -> Result<Option<Self>, DebugError> {
        if !has_debug_info(elf) {
            return Ok(None);
        }
        let sections = DwarfSections::load(|id| section(elf, id))?;
        Ok(Some(Self { sections }))
    }

    /// Parses the units.
    ///
    /// # Errors
    /// [`DebugError`]: they are damaged.
    pub fn info(&self) -> Result<DebugInfo<'_>, DebugError> {
        DebugInfo::new(self.sections.borrow(|bytes| EndianSlice::new(bytes, LittleEndian)))
    }
}

/// Whether the file itself has debug information: not one that was stripped.
pub(super) fn has_debug_info(elf: &Elf) -> bool {
    let name = SectionId::DebugInfo.name();
    [name, &gnu_name(name)].iter().any(|name| elf.section(name).is_some_and(|(_, bytes)| !bytes.is_empty()))
}

/// The name of a section that an older linker compressed: `.zdebug_info` for `.debug_info`.
fn gnu_name(name: &str) -> String {
    name.replacen(".debug", ".zdebug", 1)
}

fn section<'e>(elf: &'e Elf, id: SectionId) -> Result<Cow<'e, [u8]>, DebugError> {
    match elf.section(id.name()) {
        None => match elf.section(&gnu_name(id.name())) {
            Some((_, bytes)) => decompress_gnu(id.name(), bytes).map(Cow::Owned),
            None => Ok(Cow::Borrowed(&[])),
        },
        Some((header, bytes)) if header.sh_flags & u64::from(SHF_COMPRESSED) != 0 => {
            decompress(id.name(), bytes).map(Cow::Owned)
        }
        Some((_, bytes)) => Ok(Cow::Borrowed(bytes)),
    }
}
