//! Debug information in a file of its own, as distributions ship it.

use super::sections::has_debug_info;
use crate::image::elf::Elf;
use crate::image::elf_symbols::has_symtab;
use crate::image::symbols::SymbolTable;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Where distributions put it (gdb manual, "Separate Debug Files").
const GLOBAL: &str = "/usr/lib/debug";

/// The file with the debug information of `elf`, which was opened at `path`: found by its build id, or by its
/// `.gnu_debuglink` beside it, in `.debug` or in `/usr/lib/debug`. `None` where `elf` has it itself or there is
/// none; a file that belongs to another build is none.
#[must_use]
pub fn separate(elf: &Elf, path: &Path) -> Option<Elf> {
    if has_debug_info(elf) {
        return None;
    }
    by_build_id(elf).or_else(|| by_link(elf, path)).filter(has_debug_info)
}

/// The functions of `elf`, which was opened at `path`, named by its separate debug file, too, where it was stripped.
#[must_use]
pub fn symbols(elf: &Elf, path: &Path) -> SymbolTable {
    stripped_symbols(elf, path).unwrap_or_else(|| SymbolTable::of(elf))
}

/// The same, where `elf` was stripped and has a separate debug file.
#[must_use]
pub fn stripped_symbols(elf: &Elf, path: &Path) -> Option<SymbolTable> {
    if has_symtab(elf) {
        return None;
    }
    separate(elf, path).map(|debug| SymbolTable::with_debug(elf, &debug))
}

fn by_build_id(elf: &Elf) -> Option<Elf> {
    let id = elf.build_id()?;
    let mut hex = String::new();
    for byte in id {
        let _ = write!(hex, "{byte:02x}");
    }
    let (directory, file) = hex.split_at_checked(2)?;
    let found = Elf::open(&PathBuf::from(format!("{GLOBAL}/.build-id/{directory}/{file}.debug"))).ok()?;
    (found.build_id() == Some(id)).then_some(found)
}

fn by_link(elf: &Elf, path: &Path) -> Option<Elf> {
    let link = Link::of(elf, path)?;
    link.candidates.iter().find_map(|candidate| Elf::open(candidate).ok().filter(|found| link.is(found)))
}

/// A file that the link of `elf` leads to and that is another one than it was made for.
#[must_use]
pub fn mismatched(elf: &Elf, path: &Path) -> Option<PathBuf> {
    let link = Link::of(elf, path)?;
    let other = |candidate: &PathBuf| Elf::open(candidate).is_ok_and(|found| !link.is(&found));
    link.candidates.iter().find(|candidate| other(candidate)).cloned()
}

/// A `.gnu_debuglink`: a file name, zeros up to a multiple of 4, and the CRC-32 of that file.
struct Link {
    candidates: [PathBuf; 3],
    checksum: u32,
}

impl Link {
    fn of(elf: &Elf, path: &Path) -> Option<Self> {
        let (_, link) = elf.section(".gnu_debuglink")?;
        let (rest, checksum) = link.split_last_chunk::<4>()?;
        let name = std::str::from_utf8(rest.split(|byte| *byte == 0).next()?).ok()?;
        // No way out of the directories.
        let name = Path::new(name).file_name()?;
        let path = path.canonicalize().ok()?;
        let directory = path.parent()?;
        let global = Path::new(GLOBAL).join(directory.strip_prefix("/").ok()?);
        let candidates = [directory, &directory.join(".debug"), &global].map(|it| it.join(name));
        Some(Self { candidates, checksum: u32::from_le_bytes(*checksum) })
    }

    fn is(&self, found: &Elf) -> bool {
        crc32fast::hash(found.file_bytes()) == self.checksum
    }
}
