//! The modules of a process: which file's code lies where.

use super::elf::Elf;
use super::maps::{Backing, FileId, Mapping};
use super::process::{ImageError, Process};
use crate::address::{Bias, ElfAddr, RuntimeAddr};
use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const PAGE: u64 = 4096;

/// One loaded file. A file that is mapped twice at different places is two modules.
#[derive(Clone, Debug)]
pub struct Module {
    /// As the maps name it, without ` (deleted)`; `[vdso]` for the vdso.
    pub path: PathBuf,
    /// Whether the path no longer leads to the file.
    pub deleted: bool,
    pub bias: Bias,
    /// Where its code is mapped, by address.
    pub code: Vec<Range<RuntimeAddr>>,
    pub elf: Arc<Elf>,
}

/// Executable memory that belongs to no module, and why: JIT code, a replaced file.
#[derive(Debug)]
pub struct Unknown {
    pub range: Range<RuntimeAddr>,
    /// The file's path, or the kernel's name for the mapping; empty for anonymous memory.
    pub name: String,
    /// `None` where there is no file that could be read.
    pub reason: Option<ImageError>,
}

/// What a process runs.
#[derive(Debug, Default)]
pub struct Modules {
    /// By the address of their first code.
    pub known: Vec<Module>,
    pub unknown: Vec<Unknown>,
}

impl Module {
    /// The file's name without directories.
    #[must_use]
    pub fn name(&self) -> &str {
        self.path.file_name().and_then(|n| n.to_str()).unwrap_or("")
    }

    #[must_use]
    pub fn contains(&self, address: RuntimeAddr) -> bool {
        self.code.iter().any(|range| range.contains(&address))
    }

    /// The address that the file gives the place.
    #[must_use]
    pub const fn elf_address(&self, address: RuntimeAddr) -> ElfAddr {
        address.in_elf(self.bias)
    }
}

impl Modules {
    /// Reads the maps of `process` and every file whose code is mapped.
    ///
    /// # Errors
    /// [`ImageError`] when the maps cannot be read; a file that cannot is in [`Modules::unknown`].
    pub fn of(process: &Process) -> Result<Self, ImageError> {
        Ok(Self::from_maps(process, &process.maps()?))
    }

    /// The same for maps that have been read already.
    #[must_use]
    pub fn from_maps(process: &Process, maps: &[Mapping]) -> Self {
        let mut modules = Self::default();
        let mut files: HashMap<(FileId, PathBuf), Arc<Elf>> = HashMap::new();
        for mapping in maps.iter().filter(|m| m.executable) {
            let path = match &mapping.backing {
                Backing::File { path, .. } => path.clone(),
                // The kernel's own page of legacy calls is code that nothing can read.
                Backing::Special(name) if name == "[vdso]" => PathBuf::from(name),
                Backing::Special(name) => {
                    modules.add_unknown(mapping, name.clone(), None);
                    continue;
                }
                Backing::Anonymous => {
                    modules.add_unknown(mapping, String::new(), None);
                    continue;
                }
            };
            let key = (mapping.file, path.clone());
            let elf = match files.get(&key) {
                Some(elf) => Ok(Arc::clone(elf)),
                None => process.elf(mapping).map(Arc::new),
            };
            match elf {
                Ok(elf) => {
                    files.insert(key, Arc::clone(&elf));
                    modules.add(mapping, &path, elf);
                }
                Err(reason) => modules.add_unknown(mapping, path.display().to_string(), Some(reason)),
            }
        }
        modules
    }

    /// The module whose code `address` is in.
    #[must_use]
    pub fn at(&self, address: RuntimeAddr) -> Option<&Module> {
        self.known.iter().find(|module| module.contains(address))
    }

    fn add(&mut self, mapping: &Mapping, path: &Path, elf: Arc<Elf>) {
        let Some(bias) = bias(&elf, mapping) else {
            // Mapped executable, but not as its program headers say: a file read as data, or not by a loader.
            self.add_unknown(mapping, path.display().to_string(), None);
            return;
        };
        match self.known.iter_mut().find(|m| m.bias == bias && m.path == path) {
            Some(module) => module.code.push(mapping.range.clone()),
            None => self.known.push(Module {
                path: path.to_path_buf(),
                deleted: matches!(mapping.backing, Backing::File { deleted: true, .. }),
                bias,
                code: vec![mapping.range.clone()],
                elf,
            }),
        }
    }

    fn add_unknown(&mut self, mapping: &Mapping, name: String, reason: Option<ImageError>) {
        self.unknown.push(Unknown { range: mapping.range.clone(), name, reason });
    }
}

/// What was added to the file's addresses, from the executable segment that the mapping shows a part of. A
/// loader maps whole pages, so both ends of a segment are rounded outward.
fn bias(elf: &Elf, mapping: &Mapping) -> Option<Bias> {
    let offset = mapping.offset.0;
    let segment = elf.segments().iter().filter(|s| s.executable).find(|s| {
        let start = s.offset.0 & !(PAGE - 1);
        start <= offset && offset < s.offset.0.saturating_add(s.file_size)
    })?;
    let mapped = segment.start.0.wrapping_add(offset).wrapping_sub(segment.offset.0);
    Some(Bias(mapping.range.start.0.wrapping_sub(mapped)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::symbols::SymbolTable;

    #[test]
    fn own_modules_lead_to_own_symbols() {
        let modules = Modules::of(&Process::own()).unwrap();
        let here = RuntimeAddr(own_modules_lead_to_own_symbols as fn() as usize as u64);
        let own = modules.at(here).unwrap();
        assert_eq!(own.path, std::env::current_exe().unwrap());
        let table = SymbolTable::of(&own.elf);
        let (symbol, offset) = table.at(own.elf_address(here)).unwrap();
        assert!(symbol.name().ends_with("own_modules_lead_to_own_symbols"), "{}", symbol.name());
        assert_eq!(offset, 0);
        // The file's bytes at that place are the memory's.
        let mut memory = [0; 16];
        Process::own().read(here, &mut memory).unwrap();
        assert_eq!(own.elf.bytes_at(own.elf_address(here), 16), Some(&memory[..]));
    }

    #[test]
    fn a_libc_function_is_found_where_the_linker_put_it() {
        let modules = Modules::of(&Process::own()).unwrap();
        let qsort = RuntimeAddr(libc::qsort as *const () as u64);
        let module = modules.at(qsort).unwrap();
        assert!(module.name().starts_with("libc"), "{module:?}");
        let table = SymbolTable::of(&module.elf);
        assert_eq!(table.at(module.elf_address(qsort)).map(|(s, o)| (s.raw(), o)), Some(("qsort", 0)));
    }

    #[test]
    fn the_vdso_is_read_from_memory() {
        let modules = Modules::of(&Process::own()).unwrap();
        let Some(vdso) = modules.known.iter().find(|m| m.path == Path::new("[vdso]")) else {
            println!("SKIP the_vdso_is_read_from_memory: this kernel maps none");
            return;
        };
        let table = SymbolTable::of(&vdso.elf);
        assert!(table.symbols().iter().any(|s| s.names().any(|n| n == "__vdso_clock_gettime")));
        assert_eq!(vdso.bias.0, vdso.code[0].start.0);
    }

    #[test]
    fn a_file_that_took_the_place_of_the_mapped_one_is_not_parsed() {
        let process = Process::own();
        let maps = process.maps().unwrap();
        let libc = maps.iter().find(|m| {
            m.executable && matches!(&m.backing, Backing::File { path, .. } if path.ends_with("libc.so.6"))
        });
        let Some(libc) = libc else {
            println!("SKIP a_file_that_took_the_place: not linked to glibc");
            return;
        };
        let mut replaced = libc.clone();
        replaced.file.inode += 1;
        replaced.backing = Backing::File { path: "/bin/sh".into(), deleted: false };
        assert!(matches!(process.elf(&replaced), Err(ImageError::Replaced(_))));
        // The right file under another device number, as overlayfs shows it, is known by its bytes.
        let mut overlaid = libc.clone();
        overlaid.file.minor += 1;
        assert!(process.elf(&overlaid).is_ok());
        let mut deleted = libc.clone();
        deleted.backing = Backing::File { path: "/bin/sh".into(), deleted: true };
        assert!(matches!(process.elf(&deleted), Err(ImageError::Deleted(_))));
    }
}
