//! What ran out of scope, by name.
//!
//! A trace holds the symbols of code that was stepped into. What was only called has its name in its module's file.

use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

use super::markers;
use super::place::Place;
use super::visible::visible;
use crate::address::RuntimeAddr;
use crate::image::elf::Elf;
use crate::image::elf_symbols::SymbolKind;
use crate::image::symbols::{Symbol, SymbolTable};
use crate::record::reader::{Module, Trace};

/// How a call through the linkage table is named.
const LINKAGE: &str = "@plt";
/// How a function is named that the loader chooses for this CPU (STT_GNU_IFUNC).
const INDIRECT: &str = "@ifunc";

/// The symbol tables of modules that were called into, by module id; `None` for a file that is gone or another one.
#[derive(Default)]
pub struct NativeNames {
    tables: HashMap<u32, Option<SymbolTable>>,
    known: HashMap<RuntimeAddr, Place>,
    /// Whether what was called, and where that led, are an indirect function and what was chosen.
    indirect: HashMap<(RuntimeAddr, RuntimeAddr), bool>,
}

impl NativeNames {
    /// A `native` marker in words. Behind a call through the linkage table, which may lead to the dynamic linker first,
    /// what was `called` stands before where control left.
    pub fn text(
        &mut self,
        trace: &Trace,
        called: RuntimeAddr,
        target: RuntimeAddr,
        resume: RuntimeAddr,
    ) -> String {
        let left = self.place(trace, target).full(target);
        let linkage = trace.symbol(called).filter(|hit| hit.symbol.name.ends_with(LINKAGE));
        let left = match linkage.filter(|_| called != target) {
            // The agent stands in front of what was called, and is no module of the program's.
            Some(hit) if trace.module(target).is_none() => visible(&hit.symbol.name).to_string(),
            Some(hit) => {
                let name = &hit.symbol.name;
                let function = name.trim_end_matches(LINKAGE);
                let chosen = if self.is_chosen(trace, function, called, target) {
                    format!("{}{INDIRECT} → ", visible(function))
                } else {
                    String::new()
                };
                format!("{} → {chosen}{left}", visible(name))
            }
            None => left,
        };
        markers::native(&left, resume, |resume| Place::of(trace, resume).short(resume))
    }

    /// Whether `target`'s module has an indirect function of this name, and this is not its own code, which chooses.
    fn is_chosen(&mut self, trace: &Trace, function: &str, called: RuntimeAddr, target: RuntimeAddr) -> bool {
        if let Some(known) = self.indirect.get(&(called, target)) {
            return *known;
        }
        let chosen = trace.module(target).is_some_and(|module| {
            let table = self.tables.entry(module.id).or_insert_with(|| symbols(module));
            let is_it = |symbol: &Symbol| {
                symbol.kind == SymbolKind::IndirectFunction
                    && symbol.names().any(|name| name == function)
                    && symbol.address.at(module.bias) != target
            };
            table.as_ref().is_some_and(|table| table.symbols().iter().any(is_it))
        });
        self.indirect.insert((called, target), chosen);
        chosen
    }

    fn place(&mut self, trace: &Trace, address: RuntimeAddr) -> &Place {
        let tables = &mut self.tables;
        self.known.entry(address).or_insert_with(|| {
            let mut place = Place::of(trace, address);
            if let (None, Some(module)) = (&place.symbol, trace.module(address)) {
                let table = tables.entry(module.id).or_insert_with(|| symbols(module));
                let found = table.as_ref().and_then(|table| table.at(address.in_elf(module.bias)));
                let found = found.map(|(symbol, offset)| (Rc::from(&*visible(&symbol.name())), offset));
                // Only a function's first address is one that is called: what lies behind it may be another one's.
                place.symbol = found.filter(|(_, offset)| *offset == 0);
            }
            place
        })
    }
}

fn symbols(module: &Module) -> Option<SymbolTable> {
    let elf = Elf::open(Path::new(&module.path)).ok()?;
    let same = !module.build_id.is_empty() && elf.build_id() == Some(&module.build_id[..]);
    same.then(|| SymbolTable::of(&elf))
}
