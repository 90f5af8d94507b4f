//! From addresses to source lines, through inlined functions.

use super::error::DebugError;
use super::info::{DebugInfo, Entry, Unit};
use crate::address::ElfAddr;
use gimli::{AttributeValue, constants};
use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What the debug information says about a few ranges of code, on its own once read.
#[derive(Clone, Debug, Default)]
pub struct SourcePlaces {
    files: Vec<PathBuf>,
    /// By start; they do not overlap within what one compiler wrote.
    lines: Vec<LineRange>,
    /// Functions and what was inlined into them, outer before inner.
    scopes: Vec<Scope>,
}

#[derive(Clone, Debug)]
struct LineRange {
    range: Range<ElfAddr>,
    file: usize,
    line: u32,
}

#[derive(Clone, Debug)]
struct Scope {
    range: Range<ElfAddr>,
    name: Option<String>,
    /// Where an inlined function was called.
    call: Option<(usize, u32)>,
    inlined: bool,
}

/// A source line, and the function it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceFrame<'p> {
    /// As the linker sees it, where that is said.
    pub function: Option<&'p str>,
    /// As the compiler had it.
    pub file: &'p Path,
    /// From 1.
    pub line: u32,
}

impl SourcePlaces {
    /// The line that the instruction at `address` comes from, then where its function was inlined, and so on outward;
    /// empty where no line is known.
    #[must_use]
    pub fn at(&self, address: ElfAddr) -> Vec<SourceFrame<'_>> {
        let after = self.lines.partition_point(|line| line.range.start <= address);
        let Some(line) = self.lines[..after].last().filter(|line| line.range.contains(&address)) else {
            return Vec::new();
        };
        let mut place = Some((line.file, line.line));
        let mut frames = Vec::new();
        for scope in self.scopes.iter().rev().filter(|scope| scope.range.contains(&address)) {
            let Some((file, line)) = place else { break };
            frames.push(SourceFrame { function: scope.name.as_deref(), file: &self.files[file], line });
            if !scope.inlined {
                return frames;
            }
            place = scope.call;
        }
        // Line tables without functions, as assemblers write them.
        if frames.is_empty() {
            frames.push(SourceFrame { function: None, file: &self.files[line.file], line: line.line });
        }
        frames
    }

    /// Every file that a line or a call is in.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }
}

impl<'s> DebugInfo<'s> {
    /// What is said about `wanted`, which must be sorted and without overlaps.
    ///
    /// # Errors
    /// [`DebugError`]: what describes those ranges is damaged.
    pub fn places(&self, wanted: &[Range<ElfAddr>]) -> Result<SourcePlaces, DebugError> {
        let mut places = Collected { wanted, places: SourcePlaces::default(), known: HashMap::new() };
        for unit in &self.units {
            if self.covers(unit, wanted)? {
                self.add_line_ranges(unit, &mut places)?;
                self.add_scopes(unit, &mut places)?;
            }
        }
        let mut places = places.places;
        places.lines.sort_by_key(|line| line.range.start);
        Ok(places)
    }

    fn covers(&self, unit: &Unit<'s>, wanted: &[Range<ElfAddr>]) -> Result<bool, DebugError> {
        let mut entries = unit.entries();
        let Some(root) = entries.next_dfs()? else { return Ok(false) };
        let ranges = self.ranges(unit, root)?;
        // Old assemblers state no range.
        Ok(ranges.is_empty() || ranges.iter().any(|range| meets(wanted, range)))
    }

    fn add_line_ranges(&self, unit: &Unit<'s>, into: &mut Collected<'_>) -> Result<(), DebugError> {
        let Some(program) = &unit.line_program else { return Ok(()) };
        let mut previous: Option<(ElfAddr, u64, u32)> = None;
        let mut rows = program.clone().rows();
        let mut files = HashMap::new();
        while let Some((header, row)) = rows.next_row()? {
            let address = ElfAddr(row.address());
            if let Some((start, number, line)) = previous.take() {
                let range = start..address;
                // Line 0 is code that comes from no line (DWARF 5, section 6.2.2).
                if start < address && line > 0 && meets(into.wanted, &range) {
                    let file = *files.entry(number).or_insert_with(|| {
                        self.source_file(unit, header, number).map(|path| into.file(path))
                    });
                    let ranges = file.map(|file| LineRange { range, file, line });
                    into.places.lines.extend(ranges);
                }
            }
            if !row.end_sequence() {
                let line = row.line().and_then(|line| u32::try_from(line.get()).ok()).unwrap_or(0);
                previous = Some((address, row.file_index(), line));
            }
        }
        Ok(())
    }

    fn add_scopes(&self, unit: &Unit<'s>, into: &mut Collected<'_>) -> Result<(), DebugError> {
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs()? {
            let inlined = entry.tag() == constants::DW_TAG_inlined_subroutine;
            if !inlined && entry.tag() != constants::DW_TAG_subprogram {
                continue;
            }
            let ranges = self.ranges(unit, entry)?;
            if !ranges.iter().any(|range| meets(into.wanted, range)) {
                continue;
            }
            let name = self.names(unit, entry).into_iter().next();
            let call = if inlined { self.call_site(unit, entry, into) } else { None };
            for range in ranges {
                into.places.scopes.push(Scope { range, name: name.clone(), call, inlined });
            }
        }
        Ok(())
    }

    fn call_site(
        &self,
        unit: &Unit<'s>,
        entry: &Entry<'s>,
        into: &mut Collected<'_>,
    ) -> Option<(usize, u32)> {
        let line = entry.attr_value(constants::DW_AT_call_line)?.udata_value()?;
        let number = match entry.attr_value(constants::DW_AT_call_file)? {
            AttributeValue::FileIndex(number) => number,
            other => other.udata_value()?,
        };
        let path = self.source_file(unit, unit.line_program.as_ref()?.header(), number)?;
        Some((into.file(path), u32::try_from(line).ok()?))
    }
}

struct Collected<'w> {
    wanted: &'w [Range<ElfAddr>],
    places: SourcePlaces,
    /// Index of each file.
    known: HashMap<PathBuf, usize>,
}

impl Collected<'_> {
    fn file(&mut self, path: PathBuf) -> usize {
        let files = &mut self.places.files;
        *self.known.entry(path).or_insert_with_key(|path| {
            files.push(path.clone());
            files.len() - 1
        })
    }
}

/// Whether `range` overlaps one of `wanted`.
fn meets(wanted: &[Range<ElfAddr>], range: &Range<ElfAddr>) -> bool {
    let first = wanted.partition_point(|it| it.end <= range.start);
    wanted.get(first).is_some_and(|it| it.start < range.end)
}
