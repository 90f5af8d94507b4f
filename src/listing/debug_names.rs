//! Names of functions that were stripped from the program and kept in its separate debug file.

use std::collections::HashSet;
use std::path::Path;

use crate::address::RuntimeAddr;
use crate::image::dwarf::separate::stripped_symbols;
use crate::image::elf::Elf;
use crate::record::code::BLOCK;
use crate::record::reader::{Module, Symbol, Trace};

/// Names the executed code of stripped modules by their debug files: the traced process has nothing but what the loader needs.
/// Of a file that changed since the run, or whose debug file is another build's, nothing is taken.
pub fn add_debug_names(trace: &mut Trace) {
    let blocks: HashSet<RuntimeAddr> = trace.code_blocks().collect();
    let of_block = |block: &RuntimeAddr| trace.module(block.plus(BLOCK as u64 / 2));
    let executed: HashSet<u32> = blocks.iter().filter_map(of_block).map(|module| module.id).collect();
    let modules = trace.modules().iter().filter(|it| !it.build_id.is_empty() && !it.path.starts_with('['));
    let modules = modules.filter(|module| executed.contains(&module.id));
    let more = modules.flat_map(|module| names(module, &blocks)).collect();
    trace.add_symbols(more);
}

/// The module's functions that overlap one of the blocks.
fn names(module: &Module, blocks: &HashSet<RuntimeAddr>) -> Vec<Symbol> {
    let path = Path::new(&module.path);
    let Ok(elf) = Elf::open(path) else { return Vec::new() };
    let table = stripped_symbols(&elf, path).filter(|_| elf.build_id() == Some(&module.build_id[..]));
    let Some(table) = table else { return Vec::new() };
    let covered = |start: RuntimeAddr, size: u64| {
        let first = start.0 & !(BLOCK as u64 - 1);
        (first..start.0.saturating_add(size)).step_by(BLOCK).any(|block| blocks.contains(&RuntimeAddr(block)))
    };
    let found = table.symbols().iter().map(|symbol| (symbol, symbol.address.at(module.bias)));
    let found = found.filter(|(symbol, start)| covered(*start, symbol.size));
    let named = found.map(|(symbol, start)| Symbol {
        name: symbol.name().into_owned(),
        raw: symbol.raw().to_owned(),
        start,
        size: symbol.size,
        module: Some(module.id),
    });
    named.collect()
}
