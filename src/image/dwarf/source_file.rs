//! The paths of source files, as units name them and as users do.

use super::info::{DebugInfo, Unit};
use gimli::LineProgramHeader;
use std::path::{Component, Path, PathBuf};

use super::info::Reader;

impl<'s> DebugInfo<'s> {
    /// The path of a unit's file number: the compiler's directory, the file's directory and its name, joined.
    /// The directories are those of the machine that compiled it. `None` where the number is none.
    pub(super) fn source_file(
        &self,
        unit: &Unit<'s>,
        header: &LineProgramHeader<Reader<'s>>,
        number: u64,
    ) -> Option<PathBuf> {
        let text =
            |value| self.dwarf.attr_string(unit, value).ok().map(|it| PathBuf::from(&*it.to_string_lossy()));
        let file = header.file(number)?;
        let mut path = unit.comp_dir.map_or_else(PathBuf::new, |it| PathBuf::from(&*it.to_string_lossy()));
        path.extend(file.directory(header).and_then(text));
        path.push(text(file.path_name())?);
        Some(path.components().filter(|part| *part != Component::CurDir).collect())
    }
}

/// Whether `wanted` (`gcd.c`, `src/gcd.c` or a whole path) means the file at `path`.
pub(super) fn means(wanted: &str, path: &Path) -> bool {
    let wanted: PathBuf = Path::new(wanted).components().filter(|part| *part != Component::CurDir).collect();
    path.ends_with(&wanted)
}
