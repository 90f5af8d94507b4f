//! What an entry of a function is called, and which entry describes it further.

use super::info::{DebugInfo, Entry, Unit};
use gimli::constants::{
    DW_AT_MIPS_linkage_name, DW_AT_abstract_origin, DW_AT_linkage_name, DW_AT_name, DW_AT_specification,
};
use gimli::{AttributeValue, DebugInfoOffset};

/// An instance leads to its abstract function, that to its declaration in a class: never farther.
const MAX_HOPS: usize = 4;

impl<'s> DebugInfo<'s> {
    /// The names of a function: as the linker sees it, if the entry says so, then as the source has it. They
    /// may stand in the entries that this one refers to.
    pub(super) fn names(&self, unit: &Unit<'s>, entry: &Entry<'s>) -> Vec<String> {
        let mut names = self.own_names(unit, entry);
        let mut next = origin(unit, entry);
        for _ in 0..MAX_HOPS {
            let Some((unit, entry)) = next.and_then(|offset| self.entry(offset)) else { break };
            names.extend(self.own_names(unit, &entry));
            next = origin(unit, &entry);
        }
        names
    }

    fn own_names(&self, unit: &Unit<'s>, entry: &Entry<'s>) -> Vec<String> {
        let values = [DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name].into_iter();
        let values = values.filter_map(|name| entry.attr_value(name));
        let strings = values.filter_map(|value| self.dwarf.attr_string(unit, value).ok());
        strings.map(|string| string.to_string_lossy().into_owned()).collect()
    }
}

/// The entry that `entry` is an instance or a definition of, which may be in another unit.
pub(super) fn origin(unit: &Unit<'_>, entry: &Entry<'_>) -> Option<DebugInfoOffset> {
    let value = entry.attr_value(DW_AT_abstract_origin).or_else(|| entry.attr_value(DW_AT_specification))?;
    match value {
        AttributeValue::UnitRef(offset) => offset.to_debug_info_offset(&unit.header),
        AttributeValue::DebugInfoRef(offset) => Some(offset),
        _ => None,
    }
}
