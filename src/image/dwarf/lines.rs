//! From source lines to addresses, by the line tables.

use super::error::DebugError;
use super::info::{DebugInfo, Unit};
use super::source_file::means;
use crate::address::ElfAddr;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// The lines of one source file that have code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceLines {
    /// The files that the wanted name stands for; several may share it.
    pub files: BTreeSet<PathBuf>,
    /// Of each line, the addresses where a statement begins (`is_stmt`, DWARF 5 section 6.2.2). Unsorted, and
    /// with those of code that the linker has dropped.
    lines: BTreeMap<u32, Vec<ElfAddr>>,
}

impl SourceLines {
    /// Where `line` begins, in any function.
    #[must_use]
    pub fn at(&self, line: u32) -> &[ElfAddr] {
        self.lines.get(&line).map_or(&[], Vec::as_slice)
    }

    /// The lines with code that are nearest to `line`: the one before and the one after.
    pub fn around(&self, line: u32) -> impl Iterator<Item = u32> {
        let before = self.lines.range(..line).next_back();
        let after = self.lines.range(line.saturating_add(1)..).next();
        before.into_iter().chain(after).map(|(line, _)| *line)
    }

    /// Drops what lies where `keep` says no, and lines that then have no code.
    #[must_use]
    pub fn retain(mut self, keep: impl Fn(ElfAddr) -> bool) -> Self {
        self.lines.retain(|_, addresses| {
            addresses.retain(|address| keep(*address));
            !addresses.is_empty()
        });
        self
    }
}

impl<'s> DebugInfo<'s> {
    /// The lines of every file that `wanted` means: a name, with as many of its directories as tell it apart.
    ///
    /// # Errors
    /// [`DebugError`]: a line table is damaged.
    pub fn lines_of(&self, wanted: &str) -> Result<SourceLines, DebugError> {
        let mut lines = SourceLines::default();
        for unit in &self.units {
            self.add_lines(unit, wanted, &mut lines)?;
        }
        Ok(lines)
    }

    /// Every source file that some code comes from, or might.
    #[must_use]
    pub fn source_files(&self) -> BTreeSet<PathBuf> {
        self.units.iter().flat_map(|unit| self.files_of(unit)).map(|(_, path)| path).collect()
    }

    fn files_of(&self, unit: &Unit<'s>) -> Vec<(u64, PathBuf)> {
        let Some(program) = &unit.line_program else { return Vec::new() };
        let header = program.header();
        // Numbers start at 1 before DWARF 5 and at 0 in it; what is no file is left out.
        let numbers = 0..=header.file_names().len() as u64;
        numbers.filter_map(|number| Some((number, self.source_file(unit, header, number)?))).collect()
    }

    fn add_lines(&self, unit: &Unit<'s>, wanted: &str, into: &mut SourceLines) -> Result<(), DebugError> {
        let mut files = self.files_of(unit);
        files.retain(|(_, path)| means(wanted, path));
        let (Some(program), false) = (&unit.line_program, files.is_empty()) else { return Ok(()) };
        let numbers: BTreeSet<u64> = files.iter().map(|(number, _)| *number).collect();
        into.files.extend(files.into_iter().map(|(_, path)| path));
        let mut rows = program.clone().rows();
        while let Some((_, row)) = rows.next_row()? {
            let line = row.line().and_then(|line| u32::try_from(line.get()).ok());
            if let Some(line) = line
                && row.is_stmt()
                && !row.end_sequence()
                && numbers.contains(&row.file_index())
            {
                into.lines.entry(line).or_default().push(ElfAddr(row.address()));
            }
        }
        Ok(())
    }
}
