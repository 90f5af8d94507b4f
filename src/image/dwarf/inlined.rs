//! Functions that the compiler inlined, and where it put them.

use super::entry_names::origin;
use super::error::DebugError;
use super::info::{DebugInfo, Entry, Unit};
use gimli::constants;
use gimli::{AttributeValue, DebugInfoOffset};
use std::collections::BTreeSet;

/// A call that was replaced by the function's body.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InlineSite {
    /// The function with code of its own that the body is in, as the linker sees it; empty where it has no name.
    pub caller: String,
    /// Where the call stands: the file's name without directories, and the line from 1. It may be in a function
    /// that is inlined itself. `None` where the compiler does not say.
    pub place: Option<(String, u32)>,
}

impl<'s> DebugInfo<'s> {
    /// Where the functions that `named` picks (by a name as the linker or as the source has it) were inlined;
    /// empty if nothing is left of them. `None` where there is no such function, or it has code of its own, too.
    ///
    /// # Errors
    /// [`DebugError`]: the entries are damaged.
    pub fn inlined(
        &self,
        named: impl Fn(&str) -> bool + Copy,
    ) -> Result<Option<BTreeSet<InlineSite>>, DebugError> {
        let wanted = self.abstract_functions(named)?;
        if wanted.is_empty() {
            return Ok(None);
        }
        let mut sites = BTreeSet::new();
        for unit in &self.units {
            let mut caller = String::new();
            let mut entries = unit.entries();
            while let Some(entry) = entries.next_dfs()? {
                let instance = origin(unit, entry).is_some_and(|offset| wanted.contains(&offset.0));
                match entry.tag() {
                    constants::DW_TAG_subprogram if self.ranges(unit, entry)?.is_empty() => {}
                    constants::DW_TAG_subprogram => {
                        let names = self.names(unit, entry);
                        // Another of the name may never have been inlined, and so have no abstract function.
                        if instance || names.iter().any(|name| named(name)) {
                            return Ok(None);
                        }
                        caller = names.into_iter().next().unwrap_or_default();
                    }
                    // An instance inside an abstract function is a pattern for others, and has no code.
                    constants::DW_TAG_inlined_subroutine
                        if instance && !self.ranges(unit, entry)?.is_empty() =>
                    {
                        sites.insert(InlineSite { caller: caller.clone(), place: self.place(unit, entry) });
                    }
                    _ => {}
                }
            }
        }
        Ok(Some(sites))
    }

    /// Offsets in `.debug_info` of the functions that are marked as inlined and have one of the names.
    fn abstract_functions(&self, named: impl Fn(&str) -> bool) -> Result<BTreeSet<usize>, DebugError> {
        let mut found = BTreeSet::new();
        for unit in &self.units {
            let mut entries = unit.entries();
            while let Some(entry) = entries.next_dfs()? {
                if entry.tag() == constants::DW_TAG_subprogram
                    && is_inlined(entry)
                    && self.names(unit, entry).iter().any(|name| named(name))
                    && let Some(DebugInfoOffset(offset)) = entry.offset().to_debug_info_offset(&unit.header)
                {
                    found.insert(offset);
                }
            }
        }
        Ok(found)
    }

    fn place(&self, unit: &Unit<'s>, entry: &Entry<'s>) -> Option<(String, u32)> {
        let line = entry.attr_value(constants::DW_AT_call_line)?.udata_value()?;
        let number = match entry.attr_value(constants::DW_AT_call_file)? {
            AttributeValue::FileIndex(number) => number,
            other => other.udata_value()?,
        };
        let path = self.source_file(unit, unit.line_program.as_ref()?.header(), number)?;
        Some((path.file_name()?.to_string_lossy().into_owned(), u32::try_from(line).ok()?))
    }
}

fn is_inlined(entry: &Entry<'_>) -> bool {
    let Some(AttributeValue::Inline(inline)) = entry.attr_value(constants::DW_AT_inline) else {
        return false;
    };
    matches!(inline, constants::DW_INL_inlined | constants::DW_INL_declared_inlined)
}
