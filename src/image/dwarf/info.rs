//! The parsed units of one file.

use super::error::DebugError;
use gimli::{DebugInfoOffset, DebuggingInformationEntry, EndianSlice, LittleEndian};

pub(super) type Reader<'s> = EndianSlice<'s, LittleEndian>;
pub(super) type Entry<'s> = DebuggingInformationEntry<Reader<'s>>;
pub(super) type Unit<'s> = gimli::Unit<Reader<'s>>;

/// Debug information of one file, ready to be searched.
pub struct DebugInfo<'s> {
    pub(super) dwarf: gimli::Dwarf<Reader<'s>>,
    /// In the order of `.debug_info`.
    pub(super) units: Vec<Unit<'s>>,
}

impl<'s> DebugInfo<'s> {
    pub(super) fn new(dwarf: gimli::Dwarf<Reader<'s>>) -> Result<Self, DebugError> {
        let mut units = Vec::new();
        let mut headers = dwarf.units();
        while let Some(header) = headers.next()? {
            units.push(dwarf.unit(header)?);
        }
        Ok(Self { dwarf, units })
    }

    /// How many units have their functions in files of their own (`-gsplit-dwarf`; DWARF 5, 7.3.2), which are not read.
    #[must_use]
    pub fn split_units(&self) -> usize {
        self.units.iter().filter(|unit| unit.dwo_id.is_some()).count()
    }

    /// The entry at an offset of `.debug_info`, with its unit.
    pub(super) fn entry(&self, offset: DebugInfoOffset) -> Option<(&Unit<'s>, Entry<'s>)> {
        let starts_before =
            |unit: &Unit<'s>| unit.header.debug_info_offset().is_some_and(|start| start.0 <= offset.0);
        let after = self.units.partition_point(starts_before);
        let unit = self.units.get(after.checked_sub(1)?)?;
        let entry = unit.entry(offset.to_unit_offset(&unit.header)?).ok()?;
        Some((unit, entry))
    }
}
