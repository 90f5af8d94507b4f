//! Whether the program has the functions asked for, before it is started.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use super::libraries::libraries;
use super::refusal::{Image, file_name};
use crate::address::ElfAddr;
use crate::cli::exit::{CANNOT_RUN, Failure, OVERSTEP_FAILED};
use crate::image::elf::Elf;
use crate::image::elf_symbols::SymbolKind;
use crate::image::function::{FunctionPattern, Place, find, nearest};
use crate::image::symbols::SymbolTable;

/// Of four debug registers one steps and one guards the return; the rest are triggers.
const TRIGGERS: usize = 2;
/// Names to suggest.
const SUGGESTIONS: usize = 3;
/// Matches to list before "and more".
const LISTED: usize = 12;

/// Calls by which code comes in that is neither the program's nor its libraries': another program, or a `dlopen`.
const OPENERS: [&str; 24] = [
    "fork",
    "vfork",
    "_Fork",
    "clone",
    "execl",
    "execle",
    "execlp",
    "execv",
    "execve",
    "execveat",
    "execvp",
    "execvpe",
    "fexecve",
    "posix_spawn",
    "posix_spawnp",
    "pidfd_spawn",
    "pidfd_spawnp",
    "system",
    "popen",
    "wordexp",
    "dlopen",
    "dlmopen",
    "__libc_dlopen_mode",
    "syscall",
];

/// A file of the program with its symbols.
struct Module {
    path: PathBuf,
    opens_more: bool,
    symbols: SymbolTable,
}

/// Looks for `functions` in the program and its libraries: the notices for a run that may go on.
///
/// # Errors
/// 125: a function is nowhere and cannot come later, more match than can be watched, or a pattern is wrong.
/// 126: a library is missing.
pub fn look_up(image: &Image, functions: &[String]) -> Result<Vec<String>, Failure> {
    let patterns =
        functions.iter().map(|text| Ok((text, parse(text)?))).collect::<Result<Vec<_>, Failure>>()?;
    let modules = modules(image)?;
    let mut notices = Vec::new();
    let mut found = BTreeMap::new();
    for (text, pattern) in patterns {
        // An address of the running process is the agent's to judge.
        if matches!(pattern.place, Place::Address(_)) {
            continue;
        }
        let before = found.len();
        for module in &modules {
            found.extend(matches(&pattern, module));
        }
        if found.len() == before {
            notices.push(not_found(image, text, &pattern, &modules)?);
        }
    }
    if found.len() > TRIGGERS { Err(too_many(functions, &found)) } else { Ok(notices) }
}

fn parse(text: &str) -> Result<FunctionPattern, Failure> {
    let pattern = FunctionPattern::parse(text).map_err(|error| Failure::new(OVERSTEP_FAILED, error))?;
    if matches!(pattern.place, Place::Line { .. }) {
        return Err(Failure::new(OVERSTEP_FAILED, format_args!("`{text}`: source lines are not there yet"))
            .next("name the function, or its address as module+0xoffset (see overstep symbols)"));
    }
    Ok(pattern)
}

fn modules(image: &Image) -> Result<Vec<Module>, Failure> {
    let libraries = libraries(&image.interpreter, &image.path);
    if let Some(missing) = libraries.missing.first() {
        let what =
            format_args!("`{}` cannot be run: its library `{missing}` is not found", image.path.display());
        return Err(
            Failure::new(CANNOT_RUN, what).next("install it, or name its directory in LD_LIBRARY_PATH")
        );
    }
    let mut modules = vec![Module::of(image.path.clone(), &image.elf)];
    // A library that cannot be read is the loader's problem, which will say so better.
    let opened = libraries.found.into_iter().filter_map(|path| Elf::open(&path).ok().map(|elf| (path, elf)));
    modules.extend(opened.map(|(path, elf)| Module::of(path, &elf)));
    Ok(modules)
}

impl Module {
    fn of(path: PathBuf, elf: &Elf) -> Self {
        let opens_more = elf.imports().iter().any(|name| OPENERS.contains(name));
        Self { path, opens_more, symbols: SymbolTable::of(elf) }
    }
}

/// Where a trigger would stand, and what to call it.
type Found = BTreeMap<(PathBuf, ElfAddr), String>;

fn matches<'m>(
    pattern: &FunctionPattern,
    module: &'m Module,
) -> impl Iterator<Item = ((PathBuf, ElfAddr), String)> + use<'m> {
    // A stub only jumps to the function itself, which matches on its own.
    let functions = find(pattern, &module.symbols, &module.path.to_string_lossy()).into_iter();
    let functions = functions.filter(|found| found.symbol.kind != SymbolKind::Plt);
    let place = match pattern.place {
        Place::Offset(address) => Some(address),
        _ => None,
    };
    functions.map(move |found| {
        let address = place.unwrap_or(found.symbol.address);
        ((module.path.clone(), address), found.symbol.name().into_owned())
    })
}

/// The notice for a function that may come later, or the refusal.
fn not_found(
    image: &Image,
    text: &str,
    pattern: &FunctionPattern,
    modules: &[Module],
) -> Result<String, Failure> {
    let message = format!("`{text}` is not in `{}` or its libraries", image.name());
    if modules.iter().any(|module| module.opens_more) {
        // A name of the program itself may be a slip; one of libc's nearest would be noise.
        let near = suggestion(pattern, modules.first());
        return Ok(format!("{message}{near}; running, since a dlopen or another program may bring it"));
    }
    let next = format!("list what there is: overstep symbols --libs {}", image.path.display());
    Err(Failure::new(OVERSTEP_FAILED, message + &suggestion(pattern, modules)).next(next))
}

/// `; did you mean …?` with the nearest names of the first module that has some, or nothing.
fn suggestion<'m>(pattern: &FunctionPattern, modules: impl IntoIterator<Item = &'m Module>) -> String {
    let Place::Name(name) = &pattern.place else { return String::new() };
    let mut near = modules.into_iter().map(|module| nearest(name, &module.symbols, SUGGESTIONS));
    match near.find(|names| !names.is_empty()) {
        Some(names) => {
            let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
            format!("; did you mean {}?", names.join(" or "))
        }
        None => String::new(),
    }
}

fn too_many(functions: &[String], found: &Found) -> Failure {
    let mut message = format!(
        "{} functions match {}, and only {TRIGGERS} can be watched: a debug register each, two of the CPU's four \
         step and guard",
        found.len(),
        functions.iter().map(|text| format!("`{text}`")).collect::<Vec<_>>().join(", "),
    );
    for ((path, address), name) in found.iter().take(LISTED) {
        let _ = write!(message, "\n    {}+{address}  {name}", file_name(path));
    }
    if found.len() > LISTED {
        let _ = write!(message, "\n    and {} more", found.len() - LISTED);
    }
    Failure::new(OVERSTEP_FAILED, message)
        .next("name one of them, as `name`, `module!name` or module+0xoffset")
}
