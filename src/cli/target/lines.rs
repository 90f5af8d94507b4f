//! `file.c:line`: the functions that the line is in.
//!
//! A trace begins at a function's entry, where the return address is on top of the stack; so a line inside a
//! function stands for the whole function, and a notice says so.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::debug::Source;
use super::line_refusal::{LineRefusal, Place};
use super::refusal::file_name;
use crate::address::ElfAddr;
use crate::cli::exit::Failure;
use crate::image::dwarf::error::DebugError;
use crate::image::dwarf::functions::Enclosing;
use crate::image::dwarf::info::DebugInfo;
use crate::image::dwarf::lines::SourceLines;
use crate::image::elf::Elf;
use crate::image::names;
use crate::image::symbols::{Symbol, SymbolTable};

/// A source line as the user wrote it.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    pub text: &'a str,
    pub file: &'a str,
    pub line: u32,
}

/// A function that a line is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineFunction {
    pub module: PathBuf,
    pub entry: ElfAddr,
    pub name: String,
    /// What a user who named the line has to be told: `None` where the line is the function's first.
    pub notice: Option<String>,
}

impl LineFunction {
    /// `module+0xoffset`, as the agent finds the function: by the file's own name, which the maps of a process
    /// show even where a link led to it.
    pub fn pattern(&self) -> String {
        let module = self.module.canonicalize();
        format!("{}+{}", file_name(module.as_deref().unwrap_or(&self.module)), self.entry)
    }
}

/// The functions with code of `line`, in the order of `sources`, of which the first is the program; at least one.
///
/// # Errors
/// 125: there is no debug information, no such file in it, or no code at the line.
pub fn functions_at(line: Line<'_>, sources: &[Source<'_>]) -> Result<Vec<LineFunction>, Failure> {
    let mut found = Vec::new();
    let mut refusal = LineRefusal::default();
    for (index, source) in sources.iter().enumerate() {
        let place = if index == 0 { Place::Program } else { Place::Library };
        let nothing = |info: &DebugInfo<'_>, lines: &SourceLines| {
            refusal.nothing_in(place, info, lines, line.line);
        };
        match source.ask(|info, elf| in_module(line, *source, info, elf, nothing)) {
            Ok(functions) => found.extend(functions.into_iter().flatten()),
            Err(error) => refusal.damaged(source.path, error),
        }
    }
    if found.is_empty() { Err(refusal.failure(line, sources)) } else { Ok(found) }
}

fn in_module(
    line: Line<'_>,
    source: Source<'_>,
    info: &DebugInfo<'_>,
    elf: &Elf,
    nothing: impl FnOnce(&DebugInfo<'_>, &SourceLines),
) -> Result<Vec<LineFunction>, DebugError> {
    // Line tables keep what the linker dropped, at addresses that are no code.
    let lines = info.lines_of(line.file)?.retain(|address| elf.text_at(address).is_some());
    let addresses: BTreeSet<ElfAddr> = lines.at(line.line).iter().copied().collect();
    let enclosing = info.enclosing(&addresses)?;
    let mut functions: BTreeMap<ElfAddr, Enclosing> = BTreeMap::new();
    for address in &addresses {
        let known = enclosing.get(address).cloned().or_else(|| by_symbol(source.symbols, *address));
        if let Some(function) = known {
            functions.entry(function.entry).or_insert(function);
        }
    }
    if functions.is_empty() {
        nothing(info, &lines);
    }
    let described = |(entry, function): (ElfAddr, Enclosing)| {
        let name = name(source.symbols, entry, function.name.as_deref());
        let notice = (!addresses.contains(&entry)).then(|| notice(line, &name, function.inlined.as_deref()));
        LineFunction { module: source.path.to_path_buf(), entry, name, notice }
    };
    Ok(functions.into_iter().map(described).collect())
}

/// For code whose debug information has lines but no functions, as assemblers write it and rustc at
/// `line-tables-only`.
fn by_symbol(symbols: &SymbolTable, address: ElfAddr) -> Option<Enclosing> {
    let (symbol, _) = symbols.at(address)?;
    let whole = |part: &Symbol| {
        let of = part.names().find_map(names::cold_part_of)?;
        symbols.symbols().iter().find(|symbol| symbol.names().any(|name| name == of))
    };
    let entry = whole(symbol).unwrap_or(symbol).address;
    Some(Enclosing { entry, name: None, inlined: None })
}

/// As the symbols have it, so that a notice and the listing agree.
fn name(symbols: &SymbolTable, entry: ElfAddr, described: Option<&str>) -> String {
    match symbols.at(entry) {
        Some((symbol, 0)) => symbol.name().into_owned(),
        _ => described
            .map_or_else(|| format!("the function at {entry}"), |it| names::demangle(it).into_owned()),
    }
}

fn notice(line: Line<'_>, name: &str, inlined: Option<&str>) -> String {
    let text = line.text;
    match inlined.map(names::demangle) {
        Some(inner) => {
            format!("`{text}` is in `{inner}`, inlined into `{name}`: tracing `{name}` from its entry")
        }
        None => format!("`{text}` is in `{name}`: tracing `{name}` from its entry"),
    }
}
