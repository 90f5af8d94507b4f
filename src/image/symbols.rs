//! The functions of one ELF file: merged, bounded, found by address and by name.

use super::elf::Elf;
use super::elf_symbols::{Candidate, Code, SymbolKind, candidates, has_symtab, kept_for};
use super::names;
use super::plt;
use crate::address::ElfAddr;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;

/// All names of one piece of code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// The best name first; the aliases behind it in no particular order. As the file has them, but without
    /// versions.
    names: Vec<String>,
    /// With their versions (`memcpy@@GLIBC_2.14`), those that have some.
    versioned: Vec<String>,
    pub address: ElfAddr,
    /// In bytes, how much of the code is its own. Where the file gives none, up to the next symbol or the end of the
    /// section; but 1 where local symbols are stripped, since any of those may be next.
    pub size: u64,
    /// How far its code may go, where it is asked for: at least `size`.
    extent: u64,
    /// Whether `size` is the file's word or ours.
    pub sized: bool,
    pub kind: SymbolKind,
    pub local: bool,
    /// Tells apart the source files that local symbols come from; 0 where unknown.
    pub source: u32,
}

impl Symbol {
    /// The best name, as the linker sees it.
    #[must_use]
    pub fn raw(&self) -> &str {
        self.names.first().map_or("", String::as_str)
    }

    /// The best name, as its language writes it.
    #[must_use]
    pub fn name(&self) -> Cow<'_, str> {
        names::demangle(self.raw())
    }

    /// The best name and every alias, as the linker sees them.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// Names with their versions (`memcpy@@GLIBC_2.14`), those that have some.
    pub fn versioned(&self) -> impl Iterator<Item = &str> {
        self.versioned.iter().map(String::as_str)
    }

    /// The version of the best name, with its `@` or, of the default, `@@`.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        self.versioned().find_map(|it| it.strip_prefix(self.raw()).filter(|version| version.starts_with('@')))
    }

    #[must_use]
    pub fn range(&self) -> Range<ElfAddr> {
        self.address..ElfAddr(self.address.0.saturating_add(self.extent))
    }

    fn end(&self) -> ElfAddr {
        ElfAddr(self.address.0.saturating_add(self.size))
    }
}

/// Every function of a file, sorted by address, one entry an address.
#[derive(Clone, Debug, Default)]
pub struct SymbolTable {
    symbols: Vec<Symbol>,
    /// The highest end among the symbols up to each: how far back a lookup has to go.
    reach: Vec<ElfAddr>,
    /// By the name of the function, the indices of the `.cold` parts cut out of it.
    cold: HashMap<String, Vec<usize>>,
    code: Code,
}

impl SymbolTable {
    /// Reads `.symtab`, `.dynsym` and the PLT. A file without symbols gives an empty table.
    #[must_use]
    pub fn of(elf: &Elf) -> Self {
        Self::from_candidates(elf, candidates(elf), has_symtab(elf))
    }

    /// The same with the names of `debug`, the separate debug file of `elf`, which keeps the `.symtab` that was stripped.
    #[must_use]
    pub fn with_debug(elf: &Elf, debug: &Elf) -> Self {
        let mut found = candidates(elf);
        found.extend(kept_for(elf, debug));
        Self::from_candidates(elf, found, has_symtab(debug))
    }

    /// `complete` says whether local symbols are among them.
    fn from_candidates(elf: &Elf, mut found: Vec<Candidate>, complete: bool) -> Self {
        let stubs = plt::stubs(elf, &found);
        found.extend(stubs);
        Self::merge(found, Code::of(elf), complete)
    }

    fn merge(mut found: Vec<Candidate>, code: Code, complete: bool) -> Self {
        found.sort_by_key(|candidate| candidate.address);
        for aliases in found.chunk_by_mut(|a, b| a.address == b.address) {
            aliases.sort_by(|a, b| rank(a).cmp(&rank(b)));
        }
        let mut symbols: Vec<Symbol> = Vec::new();
        for candidate in found {
            match symbols.last_mut().filter(|s| s.address == candidate.address) {
                Some(symbol) => symbol.add_alias(candidate),
                None => symbols.push(candidate.into()),
            }
        }
        bound_unsized(&mut symbols, &code, complete);
        let mut reach = ElfAddr(0);
        let ends = symbols.iter().map(|s| {
            reach = reach.max(s.end());
            reach
        });
        Self { reach: ends.collect(), cold: cold_parts(&symbols), symbols, code }
    }

    #[must_use]
    pub fn symbols(&self) -> &[Symbol] {
        &self.symbols
    }

    /// The symbol that covers `address`, and the offset into it in bytes. Where several do, one whose size the
    /// file states comes first, then the one that starts last.
    #[must_use]
    pub fn at(&self, address: ElfAddr) -> Option<(&Symbol, u64)> {
        let after = self.symbols.partition_point(|s| s.address <= address);
        let mut guess = None;
        for index in (0..after).rev() {
            if *self.reach.get(index)? <= address {
                break;
            }
            let symbol = self.symbols.get(index)?;
            if address >= symbol.end() {
                continue;
            }
            if symbol.sized {
                return Some((symbol, address.0 - symbol.address.0));
            }
            guess = guess.or(Some((symbol, address.0 - symbol.address.0)));
        }
        guess
    }

    /// A made-up symbol for code that none covers: from `address` to the next symbol or the end of the section.
    /// `None` where there is no code.
    #[must_use]
    pub fn unnamed_at(&self, address: ElfAddr) -> Option<Symbol> {
        if !self.code.holds(address) {
            return None;
        }
        let after = self.symbols.partition_point(|s| s.address <= address);
        let next = self.symbols.get(after).map_or(ElfAddr(u64::MAX), |s| s.address);
        let size = self.code.end(address).min(next).0 - address.0;
        Some(Symbol {
            names: vec![format!("unnamed_{address:x}")],
            versioned: Vec::new(),
            address,
            size,
            extent: size,
            sized: false,
            kind: SymbolKind::NoType,
            local: true,
            source: 0,
        })
    }

    /// The `.cold` parts that were cut out of `function`: those of its source file, if it is a local one and
    /// that file has some, or else every one of that name.
    #[must_use]
    pub fn cold_parts(&self, function: &Symbol) -> Vec<&Symbol> {
        let indices = function.names().filter_map(|name| self.cold.get(name)).flatten();
        let parts: Vec<_> = indices.filter_map(|&index| self.symbols.get(index)).collect();
        let same_source = |s: &&&Symbol| s.source == function.source;
        if function.local && parts.iter().any(|s| same_source(&s)) {
            return parts.iter().filter(same_source).copied().collect();
        }
        parts
    }
}

impl Symbol {
    fn add_alias(&mut self, other: Candidate) {
        self.size = self.size.max(other.size);
        self.extent = self.size;
        self.sized = self.size > 0;
        if other.kind == SymbolKind::IndirectFunction {
            self.kind = other.kind;
        }
        if let Some(versioned) = other.versioned().filter(|it| !self.versioned.contains(it)) {
            self.versioned.push(versioned);
        }
        if !self.names.contains(&other.name) {
            self.names.push(other.name);
        }
    }
}

impl Candidate {
    fn versioned(&self) -> Option<String> {
        self.version.as_ref().map(|version| format!("{}{version}", self.name))
    }
}

impl From<Candidate> for Symbol {
    fn from(c: Candidate) -> Self {
        Self {
            versioned: c.versioned().into_iter().collect(),
            address: c.address,
            size: c.size,
            extent: c.size,
            sized: c.size > 0,
            kind: c.kind,
            local: c.local,
            source: c.source,
            names: vec![c.name],
        }
    }
}

fn cold_parts(symbols: &[Symbol]) -> HashMap<String, Vec<usize>> {
    let mut cold: HashMap<String, Vec<usize>> = HashMap::new();
    for (index, symbol) in symbols.iter().enumerate() {
        for whole in symbol.names().filter_map(names::cold_part_of) {
            cold.entry(whole.to_owned()).or_default().push(index);
        }
    }
    cold
}

/// Lower is better: what callers ask for before the code that chooses it, exported before local, public before reserved
/// names, sized, typed, whole functions before their parts, then short and in alphabetical order, so that the choice does
/// not hang on the table's order.
pub(super) fn rank(c: &Candidate) -> impl Ord + '_ {
    let underscores = c.name.len() - c.name.trim_start_matches('_').len();
    let mangled = c.name.starts_with("_Z") || c.name.starts_with("_R");
    let underscores = if mangled { 0 } else { underscores };
    let whole = names::base(&c.name).len() == c.name.len();
    let chooser = c.kind != SymbolKind::IndirectFunction;
    (
        chooser,
        c.local,
        underscores,
        Reverse(c.size > 0),
        c.kind,
        Reverse(whole),
        c.name.len(),
        c.name.as_str(),
    )
}

/// Gives symbols without a size the room up to the next symbol, but never past their section or segment, and
/// inside a sized function never past its end. What is behind the first byte is theirs for certain only where the table is
/// `complete`.
fn bound_unsized(symbols: &mut [Symbol], code: &Code, complete: bool) {
    let mut next = ElfAddr(u64::MAX);
    for symbol in symbols.iter_mut().rev() {
        if !symbol.sized {
            let end = code.end(symbol.address).min(next);
            symbol.extent = end.0.saturating_sub(symbol.address.0);
        }
        next = symbol.address;
    }
    let mut covered = ElfAddr(0);
    for symbol in symbols {
        if symbol.sized {
            covered = covered.max(symbol.end());
            continue;
        }
        if symbol.address < covered {
            symbol.extent = symbol.extent.min(covered.0 - symbol.address.0);
        }
        symbol.size = if complete { symbol.extent } else { symbol.extent.min(1) };
    }
}
