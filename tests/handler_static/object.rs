//! A shared object with its symbol table, as far as a call graph needs it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::path::Path;

use goblin::elf::reloc::R_X86_64_RELATIVE;
use goblin::elf::{Elf, sym};

/// Where an address taken or called leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// An address in this object.
    Local(u64),
    /// A function of another object, by name.
    External(String),
}

pub struct Object {
    bytes: Vec<u8>,
    /// Executable segments: addresses, and where their bytes lie in the file.
    text: Vec<(Range<u64>, usize)>,
    /// Functions by address: end address and name without its hash.
    functions: BTreeMap<u64, (u64, String)>,
    /// What the loader writes into pointers, by the pointer's address.
    relocations: HashMap<u64, Target>,
    /// Every symbol that has a place here, as it is in the file.
    pub defined: BTreeSet<String>,
    pub exported: BTreeSet<String>,
    pub imported: BTreeSet<String>,
}

impl Object {
    pub fn read(path: &Path) -> Self {
        let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let elf = Elf::parse(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let text = elf.program_headers.iter().filter(|header| header.is_executable());
        let text = text.map(|header| (header.vm_range(), header.p_offset as usize));
        let text = text.map(|(range, offset)| (range.start as u64..range.end as u64, offset)).collect();

        let (mut functions, mut defined) = (BTreeMap::new(), BTreeSet::new());
        for symbol in
            elf.syms.iter().filter(|symbol| symbol.st_type() == sym::STT_FUNC && symbol.st_value != 0)
        {
            let mangled = elf.strtab.get_at(symbol.st_name).unwrap_or_default();
            let name = format!("{:#}", rustc_demangle::demangle(mangled));
            defined.insert(mangled.to_owned());
            functions.insert(symbol.st_value, (symbol.st_value + symbol.st_size, name));
        }
        give_ends(&mut functions);

        let name = |index: usize| {
            let symbol = elf.dynsyms.get(index).expect("a relocation names a dynamic symbol");
            (symbol, elf.dynstrtab.get_at(symbol.st_name).unwrap_or_default().to_owned())
        };
        let mut relocations = HashMap::new();
        for relocation in elf.dynrelas.iter().chain(elf.pltrelocs.iter()) {
            let target = if relocation.r_type == R_X86_64_RELATIVE {
                Target::Local(relocation.r_addend.unwrap_or(0) as u64)
            } else if relocation.r_sym == 0 {
                // DTPMOD64 of the object's own thread-local storage.
                Target::External("thread-local storage".to_owned())
            } else {
                Target::External(name(relocation.r_sym).1)
            };
            relocations.insert(relocation.r_offset, target);
        }

        let (mut exported, mut imported) = (BTreeSet::new(), BTreeSet::new());
        for index in 1..elf.dynsyms.len() {
            let (symbol, name) = name(index);
            if symbol.is_import() { &mut imported } else { &mut exported }.insert(name);
        }
        Self { text, functions, relocations, defined, exported, imported, bytes }
    }

    /// The address of the function with this name, hash left out.
    pub fn function(&self, name: &str) -> Option<u64> {
        self.functions.iter().find(|(_, (_, found))| found == name).map(|(start, _)| *start)
    }

    /// The function that has `address` in it: start, end, name.
    pub fn function_at(&self, address: u64) -> Option<(u64, u64, &str)> {
        let (start, (end, name)) = self.functions.range(..=address).next_back()?;
        (address < *end).then_some((*start, *end, name))
    }

    /// What the loader makes of the pointer at `address`.
    pub fn pointer(&self, address: u64) -> Option<&Target> {
        self.relocations.get(&address)
    }

    pub fn is_code(&self, address: u64) -> bool {
        self.text.iter().any(|(range, _)| range.contains(&address))
    }

    pub fn code(&self, range: Range<u64>) -> &[u8] {
        let (segment, offset) =
            self.text.iter().find(|(segment, _)| segment.contains(&range.start)).expect("code is executable");
        let start = offset + (range.start - segment.start) as usize;
        &self.bytes[start..start + (range.end - range.start) as usize]
    }
}

/// Functions in assembly have no size: they end where the next one starts.
fn give_ends(functions: &mut BTreeMap<u64, (u64, String)>) {
    let mut next = None;
    for (start, (end, _)) in functions.iter_mut().rev() {
        if end == start {
            *end = next.unwrap_or(*start + 1);
        }
        next = Some(*start);
    }
}
