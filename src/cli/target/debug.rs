//! The debug information of a program's files, opened when a question needs it: most runs ask by name and do
//! not.

use std::path::Path;

use crate::image::dwarf::error::DebugError;
use crate::image::dwarf::info::DebugInfo;
use crate::image::dwarf::sections::DebugSections;
use crate::image::dwarf::separate::separate;
use crate::image::elf::Elf;
use crate::image::symbols::SymbolTable;

/// A file of the program, as a question about debug information needs it.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    pub path: &'a Path,
    pub symbols: &'a SymbolTable,
}

impl Source<'_> {
    /// Asks the debug information of the file, its own or that of a file beside it. `None` where there is none,
    /// or the file has become unreadable.
    ///
    /// # Errors
    /// [`DebugError`]: it is damaged.
    pub fn ask<T>(
        &self,
        question: impl FnOnce(&DebugInfo<'_>, &Elf) -> Result<T, DebugError>,
    ) -> Result<Option<T>, DebugError> {
        let Ok(elf) = Elf::open(self.path) else { return Ok(None) };
        let separate = separate(&elf, self.path);
        let Some(sections) = DebugSections::of(separate.as_ref().unwrap_or(&elf))? else { return Ok(None) };
        question(&sections.info()?, &elf).map(Some)
    }
}
