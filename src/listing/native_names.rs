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
use crate::image::symbols::SymbolTable;
use crate::record::reader::{Module, Trace};

/// How a call through the linkage table is named.
const LINKAGE: &str = "@plt";

/// The symbol tables of modules that were called into, by module id; `None` for a file that is gone or another one.
#[derive(Default)]
pub struct NativeNames {
    tables: HashMap<u32, Option<SymbolTable>>,
    known: HashMap<RuntimeAddr, Place>,
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
            Some(hit) => format!("{} → {left}", visible(&hit.symbol.name)),
            None => left,
        };
        markers::native(&left, resume, |resume| Place::of(trace, resume).short(resume))
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
