//! What an ELF file takes from others.

use super::elf::{Elf, string};
use super::names::strip_version;
use goblin::elf::section_header::SHN_UNDEF;

impl Elf {
    /// Names of the undefined dynamic symbols, without versions: what the loader has to find in libraries.
    #[must_use]
    pub fn imports(&self) -> Vec<&str> {
        let file = self.file_bytes();
        let (Some(table), Some(names)) = (self.dynamic().symbols(file), self.dynamic().strings(file)) else {
            return Vec::new();
        };
        let undefined = table.iter().filter(|symbol| symbol.st_shndx as u32 == SHN_UNDEF);
        let named =
            undefined.filter_map(|symbol| std::str::from_utf8(string(names, symbol.st_name as u64)?).ok());
        named.map(strip_version).filter(|name| !name.is_empty()).collect()
    }
}
