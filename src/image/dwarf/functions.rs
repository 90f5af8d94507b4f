//! Which function an address is in, by the debug information.

use super::error::DebugError;
use super::info::{DebugInfo, Entry, Unit};
use crate::address::ElfAddr;
use gimli::constants;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The function around an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enclosing {
    /// Where the function is entered: its address, or the start of the first of its ranges, since compilers put
    /// split-off cold code behind.
    pub entry: ElfAddr,
    /// As the linker sees it, where that is said.
    pub name: Option<String>,
    /// The innermost inlined function that the address belongs to.
    pub inlined: Option<String>,
}

impl<'s> DebugInfo<'s> {
    /// The functions around `addresses`; those in no function are left out.
    ///
    /// # Errors
    /// [`DebugError`]: the entries are damaged.
    pub fn enclosing(
        &self,
        addresses: &BTreeSet<ElfAddr>,
    ) -> Result<BTreeMap<ElfAddr, Enclosing>, DebugError> {
        let mut found = BTreeMap::new();
        for unit in &self.units {
            if self.may_hold(unit, addresses)? {
                self.add_enclosing(unit, addresses, &mut found)?;
            }
        }
        Ok(found)
    }

    fn add_enclosing(
        &self,
        unit: &Unit<'s>,
        addresses: &BTreeSet<ElfAddr>,
        found: &mut BTreeMap<ElfAddr, Enclosing>,
    ) -> Result<(), DebugError> {
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs()? {
            if !matches!(entry.tag(), constants::DW_TAG_subprogram | constants::DW_TAG_inlined_subroutine) {
                continue;
            }
            let ranges = self.ranges(unit, entry)?;
            let Some(start) = ranges.first().map(|range| range.start) else { continue };
            let inside = || ranges.iter().flat_map(|range| addresses.range(range.clone()));
            if inside().next().is_none() {
                continue;
            }
            let name = self.names(unit, entry).into_iter().next();
            for address in inside() {
                if entry.tag() == constants::DW_TAG_subprogram {
                    let enclosing = Enclosing { entry: start, name: name.clone(), inlined: None };
                    found.insert(*address, enclosing);
                } else if let Some(enclosing) = found.get_mut(address) {
                    // Outer before inner: the last one to cover the address is the innermost.
                    enclosing.inlined.clone_from(&name);
                }
            }
        }
        Ok(())
    }

    fn may_hold(&self, unit: &Unit<'s>, addresses: &BTreeSet<ElfAddr>) -> Result<bool, DebugError> {
        let mut entries = unit.entries();
        let Some(root) = entries.next_dfs()? else { return Ok(false) };
        let ranges = self.ranges(unit, root)?;
        // Old assemblers state no range.
        Ok(ranges.is_empty() || ranges.into_iter().any(|range| addresses.range(range).next().is_some()))
    }

    /// The code of an entry: DW_AT_low_pc with DW_AT_high_pc, or DW_AT_ranges. None is empty.
    pub(super) fn ranges(
        &self,
        unit: &Unit<'s>,
        entry: &Entry<'s>,
    ) -> Result<Vec<Range<ElfAddr>>, DebugError> {
        let mut ranges = Vec::new();
        let mut iterator = self.dwarf.die_ranges(unit, entry)?;
        while let Some(range) = iterator.next()? {
            if range.begin < range.end {
                ranges.push(ElfAddr(range.begin)..ElfAddr(range.end));
            }
        }
        Ok(ranges)
    }
}
