//! The code symbols an ELF file states, before they are merged: `.symtab` first, then `.dynsym`.

use super::elf::{Elf, slice, string};
use super::elf_versions::Versions;
use super::names::strip_version;
use crate::address::ElfAddr;
use goblin::elf::section_header::{SHF_ALLOC, SHF_EXECINSTR, SHF_TLS, SHN_ABS, SHN_UNDEF, SHT_SYMTAB};
use goblin::elf::sym::{STB_LOCAL, STT_FILE, STT_FUNC, STT_GNU_IFUNC, STT_NOTYPE, STT_OBJECT, Sym, Symtab};
use std::ops::Range;

/// What a symbol stands for. The order is the order of preference between aliases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SymbolKind {
    Function,
    /// STT_GNU_IFUNC: the code at the address chooses the function; calls go to what it returns.
    IndirectFunction,
    /// Untyped code, such as hand-written assembly.
    NoType,
    /// A stub that jumps through a slot of the global offset table.
    Plt,
}

/// One symbol table entry that names code.
pub(super) struct Candidate {
    pub(super) name: String,
    /// `@VERSION` or `@@VERSION`, where it has one.
    pub(super) version: Option<String>,
    pub(super) address: ElfAddr,
    /// 0 when the table does not say.
    pub(super) size: u64,
    pub(super) kind: SymbolKind,
    pub(super) local: bool,
    /// Which STT_FILE entry of `.symtab` a local symbol follows; 0 for none.
    pub(super) source: u32,
}

/// Labels that linkers define at borders; they name no function.
const LINKER_LABELS: [&str; 7] =
    ["_etext", "etext", "__etext", "__executable_start", "__ehdr_start", "_init_end", "__text_start"];

pub(super) fn candidates(elf: &Elf) -> Vec<Candidate> {
    let code = Code::of(elf);
    let mut found = Vec::new();
    if let Some((table, names)) = symtab(elf) {
        collect(&table, names, &Versions::default(), &code, &mut found);
    }
    let file = elf.file_bytes();
    if let (Some(table), Some(names)) = (elf.dynamic().symbols(file), elf.dynamic().strings(file)) {
        collect(&table, names, &Versions::of(elf), &code, &mut found);
    }
    found
}

/// The symbols of `debug`, the separate debug file of `elf`: of the same addresses, but without the code.
pub(super) fn kept_for(elf: &Elf, debug: &Elf) -> Vec<Candidate> {
    let mut found = Vec::new();
    if let Some((table, names)) = symtab(debug) {
        collect(&table, names, &Versions::default(), &Code::of(elf), &mut found);
    }
    found
}

/// Whether the file has the linker's symbols, not only those that the loader needs.
#[must_use]
pub fn has_symtab(elf: &Elf) -> bool {
    symtab(elf).is_some()
}

fn symtab(elf: &Elf) -> Option<(Symtab<'_>, &[u8])> {
    let header = elf.sections().iter().find(|s| s.sh_type == SHT_SYMTAB)?;
    let names = elf.sections().get(header.sh_link as usize)?;
    let table = slice(elf.file_bytes(), header.sh_offset, header.sh_size)?;
    let names = slice(elf.file_bytes(), names.sh_offset, names.sh_size)?;
    let count = table.len() / Sym::size(elf.context().container);
    Some((Symtab::parse(table, 0, count, elf.context()).ok()?, names))
}

/// `versions` are those of `.dynsym`; `.symtab` has them in the names.
fn collect(
    table: &Symtab<'_>,
    names: &[u8],
    versions: &Versions<'_>,
    code: &Code,
    found: &mut Vec<Candidate>,
) {
    let mut source = 0;
    for (index, symbol) in table.iter().enumerate() {
        if symbol.st_type() == STT_FILE {
            source += 1;
            continue;
        }
        let kind = match symbol.st_type() {
            STT_FUNC => SymbolKind::Function,
            STT_GNU_IFUNC => SymbolKind::IndirectFunction,
            STT_NOTYPE => SymbolKind::NoType,
            _ => continue,
        };
        let section = symbol.st_shndx as u32;
        let absolute = section == SHN_ABS && kind == SymbolKind::NoType;
        if section == SHN_UNDEF || absolute || !code.holds(ElfAddr(symbol.st_value)) {
            continue;
        }
        let Some(name) = string(names, symbol.st_name as u64) else { continue };
        let full = String::from_utf8_lossy(name);
        let name = strip_version(&full);
        if name.is_empty() || (kind == SymbolKind::NoType && LINKER_LABELS.contains(&name)) {
            continue;
        }
        let local = symbol.st_bind() == STB_LOCAL;
        found.push(Candidate {
            name: name.to_owned(),
            version: Some(full[name.len()..].to_owned())
                .filter(|it| !it.is_empty())
                .or_else(|| versions.suffix(index)),
            address: ElfAddr(symbol.st_value),
            size: symbol.st_size,
            kind,
            local,
            source: if local { source } else { 0 },
        });
    }
}

/// The name of the variable or table that the file has at `address`, in code or elsewhere.
pub(super) fn object_at(elf: &Elf, address: ElfAddr) -> Option<String> {
    let dynamic = elf.dynamic().symbols(elf.file_bytes()).zip(elf.dynamic().strings(elf.file_bytes()));
    symtab(elf).into_iter().chain(dynamic).find_map(|(table, names)| {
        let mut objects = table.iter().filter(|symbol| symbol.st_type() == STT_OBJECT);
        let symbol = objects.find(|it| {
            it.st_shndx as u32 != SHN_UNDEF
                && address.0.checked_sub(it.st_value).is_some_and(|offset| offset < it.st_size)
        })?;
        Some(String::from_utf8_lossy(string(names, symbol.st_name as u64)?).into_owned())
    })
}

/// Where code lies: executable segments, less the sections in them that hold data.
#[derive(Clone, Debug, Default)]
pub(super) struct Code {
    segments: Vec<Range<ElfAddr>>,
    /// Sorted by start.
    sections: Vec<(Range<ElfAddr>, bool)>,
}

impl Code {
    pub(super) fn of(elf: &Elf) -> Self {
        let loaded = elf.sections().iter().filter(|s| s.sh_flags & u64::from(SHF_ALLOC) != 0);
        let mut sections: Vec<_> = loaded
            .filter(|s| s.sh_size > 0 && s.sh_flags & u64::from(SHF_TLS) == 0)
            .map(|s| {
                let end = ElfAddr(s.sh_addr.saturating_add(s.sh_size));
                (ElfAddr(s.sh_addr)..end, s.sh_flags & u64::from(SHF_EXECINSTR) != 0)
            })
            .collect();
        sections.sort_by_key(|(range, _)| range.start);
        Self { segments: elf.text_ranges(), sections }
    }

    pub(super) fn holds(&self, address: ElfAddr) -> bool {
        let segment = self.segments.iter().any(|range| range.contains(&address));
        segment && self.section(address).is_none_or(|(_, executable)| *executable)
    }

    /// The end of the section, or else of the segment, that `address` is in.
    pub(super) fn end(&self, address: ElfAddr) -> ElfAddr {
        let segment = self.segments.iter().find(|range| range.contains(&address));
        let section = self.section(address).map(|(range, _)| range);
        section.or(segment).map_or(address, |range| range.end)
    }

    fn section(&self, address: ElfAddr) -> Option<&(Range<ElfAddr>, bool)> {
        let after = self.sections.partition_point(|(range, _)| range.start <= address);
        self.sections.get(after.checked_sub(1)?).filter(|(range, _)| range.contains(&address))
    }
}
