//! Whether the program has the functions asked for, before it is started.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

use super::debug::Source;
use super::inlined;
use super::libraries::libraries;
use super::lines::{Line, LineFunction, functions_at};
use super::refusal::{Image, file_name};
use crate::address::ElfAddr;
use crate::cli::exit::{CANNOT_RUN, Failure, OVERSTEP_FAILED};
use crate::image::decode::Vendor;
use crate::image::dwarf::separate::stripped_symbols;
use crate::image::elf::Elf;
use crate::image::elf_symbols::{SymbolKind, has_symtab};
use crate::image::entry::{Certainty, Entries, NoEntry};
use crate::image::function::{FunctionPattern, Match, Place, find, is_entered, nearest};
use crate::image::symbols::SymbolTable;

/// Of four debug registers one steps and one guards the return; the rest are triggers.
pub const TRIGGERS: usize = 2;
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

/// A file of the program with its symbols. The first one is the program itself.
struct Module {
    path: PathBuf,
    elf: Elf,
    opens_more: bool,
    symbols: SymbolTable,
    /// Of a stripped file with a separate debug file, what is left of them: all that the agent will know.
    left: Option<SymbolTable>,
}

/// What the agent is to look for, and what the user is told before the run.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Each as the user wrote it, but for source lines and what only a debug file names: those have become
    /// `module+0xoffset`, since the agent reads no debug information.
    pub patterns: Vec<String>,
    pub notices: Vec<String>,
}

/// Looks for `functions` in the program and its libraries.
///
/// # Errors
/// 125: a function is nowhere and cannot come later, more match than can be watched, a pattern is wrong, or a
/// source line has no code.
/// 126: a library is missing.
pub fn look_up(image: &Image, functions: &[String]) -> Result<Wanted, Failure> {
    let patterns =
        functions.iter().map(|text| Ok((text, parse(text)?))).collect::<Result<Vec<_>, Failure>>()?;
    let modules = modules(image)?;
    let mut wanted = Wanted::default();
    let mut found = BTreeMap::new();
    for (text, pattern) in patterns {
        if let Place::Line { file, line } = &pattern.place {
            let sources: Vec<_> = modules.iter().map(Module::source).collect();
            for function in functions_at(Line { text, file, line: *line }, &sources)? {
                wanted.patterns.push(function.pattern());
                let LineFunction { module, entry, name, notice } = function;
                wanted.notices.extend(notice);
                let index = modules.iter().position(|it| it.path == module).unwrap_or_default();
                found.insert((index, entry), Function { name, version: None });
            }
            continue;
        }
        // What only a debug file names, the agent cannot find by its name.
        let addresses: Vec<_> = modules.iter().flat_map(|module| module.by_debug_file(&pattern)).collect();
        let Matching { found: matching, no_entry, notices } = matching(text, &pattern, &modules);
        if addresses.is_empty() || matching.len() > addresses.len() {
            wanted.patterns.push(text.clone());
        }
        wanted.patterns.extend(addresses);
        // An address of the running process is the agent's to judge.
        if matches!(pattern.place, Place::Address(_)) {
            continue;
        }
        match no_entry {
            Some(why) if matching.is_empty() => return Err(no_entry_at(text, &why, image)),
            None if matching.is_empty() => wanted.notices.push(not_found(image, text, &pattern, &modules)?),
            _ => wanted.notices.extend(notices),
        }
        found.extend(matching);
    }
    if found.len() > TRIGGERS { Err(too_many(functions, &found, &modules)) } else { Ok(wanted) }
}

fn parse(text: &str) -> Result<FunctionPattern, Failure> {
    FunctionPattern::parse(text).map_err(|error| Failure::new(OVERSTEP_FAILED, error))
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
    // A library that cannot be read is the loader's problem, which will say so better.
    let files = std::iter::once(image.path.clone()).chain(libraries.found);
    Ok(files.filter_map(|path| Elf::open(&path).ok().map(|elf| Module::of(path, elf))).collect())
}

impl Module {
    fn of(path: PathBuf, elf: Elf) -> Self {
        let opens_more = elf.imports().iter().any(|name| OPENERS.contains(name));
        let own = SymbolTable::of(&elf);
        match stripped_symbols(&elf, &path) {
            Some(symbols) => Self { path, elf, opens_more, symbols, left: Some(own) },
            None => Self { path, elf, opens_more, symbols: own, left: None },
        }
    }

    /// Whether only what it exports has a name.
    fn is_stripped(&self) -> bool {
        self.left.is_none() && !has_symtab(&self.elf)
    }

    /// `module+0xoffset` of each function that the pattern names by the debug file only.
    fn by_debug_file(&self, pattern: &FunctionPattern) -> Vec<String> {
        let Some(left) = self.left.as_ref().filter(|_| matches!(pattern.place, Place::Name(_))) else {
            return Vec::new();
        };
        let path = self.path.to_string_lossy();
        let left: BTreeSet<_> = find(pattern, left, &path).iter().map(|it| it.entry).collect();
        let found = find(pattern, &self.symbols, &path).into_iter();
        let found = found.filter(|it| is_entered(&it.symbol) && !left.contains(&it.entry));
        // By the file's own name, which the maps of a process show even where a link led to it.
        let own = self.path.canonicalize();
        let name = file_name(own.as_deref().unwrap_or(&self.path));
        found.map(|it| format!("{name}+{}", it.entry)).collect()
    }

    fn source(&self) -> Source<'_> {
        Source { path: &self.path, symbols: &self.symbols }
    }
}

/// Where a trigger would stand, by the module's index, so that the program's come first; and what to call it.
type Found = BTreeMap<(usize, ElfAddr), Function>;

struct Function {
    name: String,
    version: Option<String>,
}

/// What a pattern means.
#[derive(Default)]
struct Matching {
    found: Found,
    /// Why one of the places is none at which a trace can begin.
    no_entry: Option<NoEntry>,
    notices: Vec<String>,
}

fn matching(text: &str, pattern: &FunctionPattern, modules: &[Module]) -> Matching {
    let mut matching = Matching::default();
    for (index, module) in modules.iter().enumerate() {
        let name = file_name(&module.path);
        let entries = Entries::of(&module.elf, &module.symbols, Vendor::of_this_cpu());
        let found = find(pattern, &module.symbols, &module.path.to_string_lossy()).into_iter();
        for Match { entry, symbol, .. } in found.filter(|it| is_entered(&it.symbol)) {
            // A function's symbol is believed, a number and an untyped label are not.
            let by_number = matches!(pattern.place, Place::Offset(_));
            if by_number || symbol.kind == SymbolKind::NoType {
                match entries.at(entry, &name) {
                    Ok(Certainty::Known) => {}
                    Ok(Certainty::Unknown) => matching.notices.push(format!(
                        "`{text}`: nothing in `{name}` says whether an instruction starts there; if none does, the trace \
                         stays empty, and where code has to be patched the program breaks"
                    )),
                    Err(why) => {
                        matching.no_entry.get_or_insert(why);
                        continue;
                    }
                }
            }
            let version = symbol.version().map(str::to_owned);
            matching.found.insert((index, entry), Function { name: symbol.name().into_owned(), version });
        }
    }
    matching
}

fn no_entry_at(text: &str, why: &NoEntry, image: &Image) -> Failure {
    let failure = Failure::new(OVERSTEP_FAILED, format_args!("`{text}` cannot be traced: {why}"));
    match why {
        NoEntry::Inside { .. } => failure.next("name one of those, or the function"),
        _ => {
            failure.next(format_args!("list the functions: overstep symbols --libs {}", image.path.display()))
        }
    }
}

/// The notice for a function that may come later, or the refusal.
fn not_found(
    image: &Image,
    text: &str,
    pattern: &FunctionPattern,
    modules: &[Module],
) -> Result<String, Failure> {
    let stripped = modules
        .first()
        .is_some_and(|it| it.is_stripped() && pattern.admits_module(&it.path.to_string_lossy()));
    let program = image.name();
    let message = if stripped {
        format!(
            "`{text}` is not in `{program}`, which is stripped of all names but those it exports, or its libraries"
        )
    } else {
        format!("`{text}` is not in `{program}` or its libraries")
    };
    if let Some(failure) = inlined_here(pattern, modules) {
        return Err(failure);
    }
    if modules.iter().any(|module| module.opens_more) {
        // A name of the program itself may be a slip; one of libc's nearest would be noise.
        let near = suggestion(pattern, modules.first());
        return Ok(format!("{message}{near}; running, since a dlopen or another program may bring it"));
    }
    if stripped {
        let failure = Failure::new(OVERSTEP_FAILED, message);
        return Err(failure.next(format_args!(
            "build it without -s and without strip; an address works all the same: -f {program}+0xOFFSET"
        )));
    }
    let next = format!("list what there is: overstep symbols --libs {}", image.path.display());
    Err(Failure::new(OVERSTEP_FAILED, message + &suggestion(pattern, modules)).next(next))
}

/// The refusal for a function that is inlined everywhere. Where more code may come, a glob may be meant for that,
/// and so may a name that only a library has inlined.
fn inlined_here(pattern: &FunctionPattern, modules: &[Module]) -> Option<Failure> {
    let Place::Name(name) = &pattern.place else { return None };
    let more_may_come = modules.iter().any(|module| module.opens_more);
    if more_may_come && name.contains(['*', '?', '[']) {
        return None;
    }
    let looked_at = if more_may_come { modules.get(..1)? } else { modules };
    let admitted = looked_at.iter().filter(|module| pattern.admits_module(&module.path.to_string_lossy()));
    inlined::refusal(name, &admitted.map(Module::source).collect::<Vec<_>>())
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

fn too_many(functions: &[String], found: &Found, modules: &[Module]) -> Failure {
    let mut message = format!(
        "{} functions match {}, and only {TRIGGERS} can be watched: a debug register each, two of the CPU's four \
         step and guard",
        found.len(),
        functions.iter().map(|text| format!("`{text}`")).collect::<Vec<_>>().join(", "),
    );
    for (&(index, address), Function { name, version }) in found.iter().take(LISTED) {
        let module = modules.get(index).map(|module| file_name(&module.path)).unwrap_or_default();
        let is_twin = |(other, function): (&(usize, ElfAddr), &Function)| {
            (other.0, &function.name) == (index, name) && other.1 != address
        };
        let version = version.as_deref().filter(|_| found.iter().any(is_twin)).unwrap_or_default();
        let _ = write!(message, "\n    {module}+{address}  {name}{version}");
    }
    if found.len() > LISTED {
        let _ = write!(message, "\n    and {} more", found.len() - LISTED);
    }
    Failure::new(OVERSTEP_FAILED, message)
        .next("name one of them, as `name`, `module!name` or module+0xoffset")
}
