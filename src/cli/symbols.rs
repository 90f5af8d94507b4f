//! `overstep symbols PROGRAM [PATTERN]`: what can be traced.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde::Serialize;

use super::exit::{self, Failure, Outcome};
use super::target::{self, Line, Source, functions_at, inlined_everywhere};
use super::{stderr, stdout};
use crate::image::dwarf::separate;
use crate::image::elf::{Elf, Kind};
use crate::image::elf_symbols::SymbolKind;
use crate::image::function::{FunctionPattern, Place, find, find_at, nearest};
use crate::image::symbols::{Symbol, SymbolTable};

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  overstep symbols ./a.out 'g*'\n  overstep symbols --libs git 'libc.so.6!fput*'\n\n\
                        Addresses are the file's own; pass one to trace as FILE+0xADDRESS."
)]
pub struct Arguments {
    /// A program or library; a name without a slash is looked up in PATH
    program: PathBuf,
    /// Only functions like this: a name, a glob, `module!name`, `module+0xoffset` or `file.c:line`
    pattern: Option<String>,
    /// Those of the program's libraries, too
    #[arg(long)]
    libs: bool,
    /// A table, or one JSON object a line
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

/// One line.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Row {
    module: String,
    /// The address that the module's file gives it, in hex.
    address: String,
    /// In bytes.
    size: u64,
    kind: &'static str,
    name: String,
    /// The name as the linker has it.
    raw: String,
    #[serde(skip)]
    version: Option<String>,
}

pub fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let pattern = arguments.pattern.as_deref().map(parse).transpose()?;
    let Searched { modules, kind } = modules(arguments)?;
    let mut rows: Vec<Row> = match (&pattern, &arguments.pattern) {
        (Some(FunctionPattern { place: Place::Line { file, line }, .. }), Some(text)) => {
            rows_at(Line { text, file, line: *line }, &modules)?
        }
        _ => modules.iter().flat_map(|(path, table)| rows(path, table, pattern.as_ref())).collect(),
    };
    if rows.is_empty() {
        return Err(nothing(arguments, pattern.as_ref(), &modules));
    }
    if matches!(kind, Kind::Static | Kind::StaticPie) {
        let program = arguments.program.display();
        stderr::say(&format!(
            "`{program}` is static: none of these can be traced, since no loader loads the agent"
        ));
    }
    stdout::print(exit::USAGE, |out| match arguments.format {
        Format::Text => {
            tell_apart(&mut rows);
            write_table(&rows, arguments.libs, out)
        }
        Format::Json => write_json(&rows, out),
    })?;
    Ok(Outcome::Status(exit::HOLDS))
}

fn parse(text: &str) -> Result<FunctionPattern, Failure> {
    FunctionPattern::parse(text).map_err(|error| Failure::new(exit::USAGE, error))
}

/// The program, and its libraries if they are asked for.
struct Searched {
    modules: Vec<(PathBuf, SymbolTable)>,
    kind: Kind,
}

fn modules(arguments: &Arguments) -> Result<Searched, Failure> {
    let path = if arguments.program.exists() {
        arguments.program.clone()
    } else {
        let found = target::resolve(arguments.program.as_os_str());
        found.map_err(|failure| Failure { status: exit::USAGE, ..failure })?.elf
    };
    let elf = Elf::open(&path)
        .map_err(|error| Failure::new(exit::USAGE, format_args!("`{}`: {error}", path.display())))?;
    let mut modules = vec![(path.clone(), separate::symbols(&elf, &path))];
    if let Some(interpreter) = elf.interpreter().filter(|_| arguments.libs) {
        let libraries = target::libraries(Path::new(interpreter), &path).found.into_iter();
        modules.extend(libraries.filter_map(|path| {
            let table = separate::symbols(&Elf::open(&path).ok()?, &path);
            Some((path, table))
        }));
    }
    Ok(Searched { modules, kind: elf.kind() })
}

/// Puts the versions behind names that a module has twice.
fn tell_apart(rows: &mut [Row]) {
    let names: Vec<_> = rows.iter().map(|row| (row.module.clone(), row.name.clone())).collect();
    let mut seen: HashMap<_, usize> = HashMap::new();
    for name in &names {
        *seen.entry(name).or_default() += 1;
    }
    for (row, name) in rows.iter_mut().zip(&names) {
        if seen.get(name).is_some_and(|times| *times > 1) {
            row.name.extend(row.version.take());
        }
    }
}

fn rows(path: &Path, table: &SymbolTable, pattern: Option<&FunctionPattern>) -> Vec<Row> {
    let symbols: Vec<Cow<'_, Symbol>> = match pattern {
        None => table.symbols().iter().map(Cow::Borrowed).collect(),
        Some(pattern) => {
            find(pattern, table, &path.to_string_lossy()).into_iter().map(|found| found.symbol).collect()
        }
    };
    symbols.into_iter().map(|symbol| Row::of(path, &symbol)).collect()
}

/// The functions that a source line is in.
fn rows_at(line: Line<'_>, modules: &[(PathBuf, SymbolTable)]) -> Result<Vec<Row>, Failure> {
    let functions = functions_at(line, &sources(modules))
        .map_err(|failure| Failure { status: exit::DOES_NOT_HOLD, ..failure })?;
    let rows = functions.iter().filter_map(|function| {
        let (path, table) = modules.iter().find(|(path, _)| *path == function.module)?;
        Some(Row::of(path, &find_at(table, function.entry)?.symbol))
    });
    Ok(rows.collect())
}

fn sources(modules: &[(PathBuf, SymbolTable)]) -> Vec<Source<'_>> {
    modules.iter().map(|(path, symbols)| Source { path, symbols }).collect()
}

impl Row {
    fn of(path: &Path, symbol: &Symbol) -> Self {
        Self {
            module: target::file_name(path),
            address: symbol.address.to_string(),
            size: symbol.size,
            kind: kind(symbol.kind),
            name: symbol.name().into_owned(),
            raw: symbol.raw().to_owned(),
            version: symbol.version().map(str::to_owned),
        }
    }
}

const fn kind(kind: SymbolKind) -> &'static str {
    match kind {
        SymbolKind::Function => "function",
        SymbolKind::IndirectFunction => "ifunc",
        SymbolKind::NoType => "untyped",
        SymbolKind::Plt => "plt",
    }
}

fn nothing(
    arguments: &Arguments,
    pattern: Option<&FunctionPattern>,
    modules: &[(PathBuf, SymbolTable)],
) -> Failure {
    let program = arguments.program.display();
    let Some(text) = &arguments.pattern else {
        return Failure::new(exit::DOES_NOT_HOLD, format_args!("`{program}` has no symbols: it is stripped"))
            .next("build it without -s and without strip; addresses work all the same: FILE+0xOFFSET");
    };
    let libraries = if arguments.libs { " or its libraries" } else { "" };
    let failure = |more: &str| {
        Failure::new(exit::DOES_NOT_HOLD, format_args!("`{text}` is not in `{program}`{libraries}{more}"))
    };
    let mut near = Vec::new();
    if let Some(FunctionPattern { place: Place::Name(name), .. }) = pattern {
        if let Some(inlined) = inlined_everywhere(name, &sources(modules)) {
            return Failure { status: exit::DOES_NOT_HOLD, ..inlined };
        }
        near = modules
            .iter()
            .map(|(_, table)| nearest(name, table, 3))
            .find(|it| !it.is_empty())
            .unwrap_or_default();
    }
    if near.is_empty() {
        let next = if arguments.libs {
            "leave the pattern off to see all"
        } else {
            "look into its libraries: --libs"
        };
        return failure("").next(next);
    }
    let near: Vec<_> = near.iter().map(|name| format!("`{name}`")).collect();
    failure(&format!("; did you mean {}?", near.join(" or ")))
}

fn write_table(rows: &[Row], modules: bool, out: &mut impl Write) -> io::Result<()> {
    let width =
        |cell: fn(&Row) -> usize, title: &str| rows.iter().map(cell).max().unwrap_or(0).max(title.len());
    let module = if modules { width(|row| row.module.len(), "module") } else { 0 };
    let gap = if modules { "  " } else { "" };
    let address = width(|row| row.address.len(), "address");
    let size = width(|row| row.size.to_string().len(), "size");
    let title = if modules { "module" } else { "" };
    writeln!(out, "{title:module$}{gap}{:address$}  {:>size$}  {:8}  name", "address", "size", "kind")?;
    for row in rows {
        let title = if modules { row.module.as_str() } else { "" };
        writeln!(
            out,
            "{title:module$}{gap}{:address$}  {:>size$}  {:8}  {}",
            row.address, row.size, row.kind, row.name
        )?;
    }
    Ok(())
}

fn write_json(rows: &[Row], out: &mut impl Write) -> io::Result<()> {
    for row in rows {
        serde_json::to_writer(&mut *out, row)?;
        writeln!(out)?;
    }
    Ok(())
}
