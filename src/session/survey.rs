//! Looks at the process from inside before it is armed: its modules, where the traced functions are, what is in
//! scope, and every name the handler may need.

#![allow(unsafe_code, reason = "dlsym resolves indirect functions as the program would")]

use std::ffi::{CStr, CString};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use crate::address::{ElfAddr, RuntimeAddr};
use crate::handler::known::{CodeRange, KnownCode, KnownImage, KnownModule, KnownSymbol, TracedFunction};
use crate::image::boundary::InstructionMap;
use crate::image::class::Class;
use crate::image::decode::{Vendor, decode};
use crate::image::elf_symbols::SymbolKind;
use crate::image::entry::{Entries, NoEntry};
use crate::image::function::{FunctionPattern, Match, Place, find, is_entered};
use crate::image::memory::{Memory, OwnMemory, read_value};
use crate::image::module::{Module, Modules};
use crate::image::process::{ImageError, Process};
use crate::image::restartable::restartable_sections;
use crate::image::slots::{Slot, slots};
use crate::image::symbols::{Symbol, SymbolTable};
use crate::image::unwind::covered;
use crate::record::control::Into;

/// What to look for.
pub struct Wanted<'a> {
    /// In the order the user gave them.
    pub patterns: &'a [FunctionPattern],
    pub into: Into,
    /// An address inside the tracer, whose module is never stepped; `None` in the library, which is linked into
    /// what it traces.
    pub tracer: Option<RuntimeAddr>,
    /// libc runs natively, because the handler has no memory routines of its own.
    pub spares_libc: bool,
}

/// A function that a pattern named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundFunction {
    pub pattern: u32,
    pub entry: RuntimeAddr,
    pub name: String,
    /// Its code, cold parts included.
    pub ranges: Vec<Range<RuntimeAddr>>,
}

/// Why the functions cannot be looked up.
#[derive(Debug, thiserror::Error)]
pub enum SurveyError {
    #[error(transparent)]
    Image(#[from] ImageError),
    #[error(transparent)]
    NoEntry(#[from] NoEntry),
}

/// The process as it is now.
pub struct Survey {
    modules: Modules,
    tables: Vec<SymbolTable>,
    pub functions: Vec<FoundFunction>,
}

impl Survey {
    /// Reads maps and symbols, and looks the patterns up.
    ///
    /// # Errors
    /// [`SurveyError`]: the maps cannot be read, or a pattern names a place that is no instruction.
    pub fn take(wanted: &Wanted<'_>) -> Result<Self, SurveyError> {
        let modules = Modules::of(&Process::own())?;
        let tables = modules.known.iter().map(|module| SymbolTable::of(&module.elf)).collect();
        let mut survey = Self { modules, tables, functions: Vec::new() };
        survey.functions = survey.look_up(wanted)?;
        Ok(survey)
    }

    /// The functions as the handler wants them.
    #[must_use]
    pub fn traced(&self, vendor: Vendor) -> Vec<TracedFunction> {
        let memory = OwnMemory::new();
        let traced = |&FoundFunction { pattern, entry, ref ranges, .. }: &FoundFunction| {
            let around = ranges.iter().find(|range| range.contains(&entry));
            let code = code_range(around.unwrap_or(&(entry..entry)));
            TracedFunction { entry, pattern, code, loops: branches_to(entry, code, &memory, vendor) }
        };
        self.functions.iter().map(traced).collect()
    }

    fn look_up(&self, wanted: &Wanted<'_>) -> Result<Vec<FoundFunction>, NoEntry> {
        let mut found: Vec<FoundFunction> = Vec::new();
        for (number, pattern) in wanted.patterns.iter().enumerate() {
            for (module, table) in self.modules.known.iter().zip(&self.tables) {
                if wanted.tracer.is_some_and(|tracer| module.contains(tracer)) || is_vdso(module) {
                    continue;
                }
                for function in self.matches(number as u32, pattern, module, table, wanted)? {
                    if !found.iter().any(|other| other.entry == function.entry) {
                        found.push(function);
                    }
                }
            }
        }
        Ok(found)
    }

    fn matches(
        &self,
        number: u32,
        pattern: &FunctionPattern,
        module: &Module,
        table: &SymbolTable,
        wanted: &Wanted<'_>,
    ) -> Result<Vec<FoundFunction>, NoEntry> {
        let entries = Entries::of(&module.elf, table, Vendor::of_this_cpu());
        let file = module.name();
        let place = match pattern.place {
            Place::Address(entry) if !module.contains(entry) => return Ok(Vec::new()),
            Place::Address(entry) => Some(module.elf_address(entry)),
            Place::Offset(offset) => Some(offset),
            Place::Name(_) | Place::Line { .. } => None,
        };
        let Some(place) = place else {
            let found = find(pattern, table, &module.path.to_string_lossy()).into_iter();
            let found = found.filter(|it| is_entered(&it.symbol));
            // A label says nothing of what it stands at; a glob may well cover tables, too.
            let found =
                found.filter(|it| it.symbol.kind != SymbolKind::NoType || entries.at(it.entry, file).is_ok());
            return Ok(found.filter_map(|matched| self.named(number, module, &matched)).collect());
        };
        if !pattern.admits_module(&module.path.to_string_lossy()) {
            return Ok(Vec::new());
        }
        let resolver = table.at(place).map(|(symbol, _)| symbol);
        let resolver = resolver.filter(|it| it.kind == SymbolKind::IndirectFunction && it.address == place);
        if let Some(resolver) = resolver {
            return Ok(self
                .chosen(module, resolver)
                .and_then(|it| self.at(number, it))
                .into_iter()
                .collect());
        }
        let entry = place.at(module.bias);
        if !module.contains(entry) {
            return Ok(Vec::new());
        }
        // The library is given functions, not numbers that somebody has typed.
        if wanted.tracer.is_some() {
            entries.at(place, file)?;
        }
        Ok(self.at(number, entry).into_iter().collect())
    }

    fn named(&self, pattern: u32, module: &Module, matched: &Match<'_>) -> Option<FoundFunction> {
        if matched.symbol.kind == SymbolKind::IndirectFunction {
            return self.at(pattern, self.chosen(module, &matched.symbol)?);
        }
        Some(FoundFunction {
            pattern,
            entry: matched.symbol.address.at(module.bias),
            name: matched.symbol.name().into_owned(),
            ranges: matched.ranges.iter().map(|range| code(module, range.clone())).collect(),
        })
    }

    /// The code that an indirect function (STT_GNU_IFUNC) stands for in this process. The loader has run the resolver and put
    /// what it chose into the slots of the module that has it; for one that the module does not call itself, dlsym(3) knows.
    fn chosen(&self, module: &Module, resolver: &Symbol) -> Option<RuntimeAddr> {
        let chosen_by = |slot: &Slot| *slot == Slot::Address(resolver.address);
        let slots = slots(&module.elf).into_iter().filter(|(_, slot)| chosen_by(slot));
        let memory = OwnMemory::new();
        let filled =
            slots.filter_map(|(at, _)| read_value::<8>(&memory, at.at(module.bias)).map(RuntimeAddr));
        let is_code =
            |it: &RuntimeAddr| *it != resolver.address.at(module.bias) && self.modules.at(*it).is_some();
        filled.filter(is_code).min().or_else(|| implementation(resolver.raw(), resolver.version()))
    }

    /// The function at `entry`, which need not have a symbol.
    fn at(&self, pattern: u32, entry: RuntimeAddr) -> Option<FoundFunction> {
        let (module, table) = self.modules.known.iter().zip(&self.tables).find(|(m, _)| m.contains(entry))?;
        let at = module.elf_address(entry);
        let symbol = table.at(at).map(|(symbol, _)| symbol);
        let whole = symbol.map_or_else(|| at..ElfAddr(at.0 + 1), Symbol::range);
        Some(FoundFunction {
            pattern,
            entry,
            name: symbol.map_or_else(|| format!("{}+{:#x}", module.name(), at.0), |s| s.name().into_owned()),
            ranges: vec![code(module, whole)],
        })
    }

    /// Whether the module is the C library, whose routines a compiler calls unasked.
    fn has_memcpy(&self, module: &Module) -> bool {
        implementation("memcpy", None).is_some_and(|memcpy| module.contains(memcpy))
    }

    /// Everything the handler looks up. What it refers to is never freed: a handler may be looking.
    #[must_use]
    pub fn into_image(self, wanted: &Wanted<'_>, vendor: Vendor) -> KnownImage {
        let of_tracer = |module: &Module| wanted.tracer.is_some_and(|tracer| module.contains(tracer));
        let traced = |module: &Module| self.functions.iter().any(|f| module.contains(f.entry));
        let scope = match wanted.into {
            Into::All => None,
            Into::Module => {
                let modules = self.modules.known.iter().filter(|module| traced(module));
                Some(modules.flat_map(|module| module.code.iter().map(code_range)).collect())
            }
            Into::None => Some(
                self.functions.iter().flat_map(|f| f.ranges.iter().map(code_range)).collect::<Box<[_]>>(),
            ),
        };
        let excluded = self.modules.known.iter().filter(|module| of_tracer(module) || is_vdso(module));
        let excluded = excluded.flat_map(|module| module.code.iter().map(code_range));
        // The agent's own file, a memfd whose name is gone, may not be readable again.
        let unknown = self.modules.unknown.iter().map(|unknown| &unknown.range);
        let unnamed = unknown.filter(|range| wanted.tracer.is_some_and(|tracer| range.contains(&tracer)));
        let excluded = excluded.chain(unnamed.map(code_range));
        // A handler that calls libc's memory routines would meet its own breakpoint there, for ever.
        let shared = self.modules.known.iter().filter(|module| wanted.spares_libc && self.has_memcpy(module));
        let excluded = excluded.chain(shared.flat_map(|module| module.code.iter().map(code_range))).collect();
        let modules = self.modules.known.iter().filter(|module| !of_tracer(module));
        let mut restartable: Vec<_> =
            modules.flat_map(|module| restartable_sections(module, &OwnMemory::new(), vendor)).collect();
        restartable.sort_by_key(|section| section.start);
        let mut code = Vec::new();
        let mut symbols = Vec::new();
        let mut modules = Vec::new();
        for (id, (module, table)) in self.modules.known.iter().zip(&self.tables).enumerate() {
            let stepped = wanted.into == Into::All && !of_tracer(module) || traced(module);
            let map = stepped.then(|| Arc::new(InstructionMap::of(&module.elf, table, vendor)));
            modules.push(known_module(module));
            for range in &module.code {
                code.push(KnownCode {
                    range: code_range(range),
                    module: id as u32,
                    bias: module.bias,
                    map: map.clone(),
                    file: file_bytes(module, range).filter(|_| stepped && !is_vdso(module)),
                });
            }
            symbols.extend(table.symbols().iter().map(|symbol| KnownSymbol {
                start: symbol.address.at(module.bias),
                size: symbol.size,
                reach: RuntimeAddr(0),
                name: symbol.name().as_bytes().into(),
                raw: symbol.raw().as_bytes().into(),
            }));
        }
        let mut jumpers: Vec<_> = symbols.iter().filter(|s| is_jumper(&s.raw)).map(|s| s.start).collect();
        jumpers.sort();
        code.sort_by_key(|code| code.range.start);
        symbols.sort_by_key(|symbol| symbol.start);
        let mut reach = RuntimeAddr(0);
        for symbol in &mut symbols {
            reach = reach.max(symbol.start.plus(symbol.size));
            symbol.reach = reach;
        }
        KnownImage {
            modules: modules.into(),
            code: code.into(),
            symbols: symbols.into(),
            scope,
            excluded,
            jumpers: jumpers.into(),
            restartable: restartable.into(),
            files: Some(self.modules),
        }
    }
}

/// Functions that leave by other ways than a return: longjmp and its kin, contexts, the unwinder of C++, Rust and
/// pthread_exit. Names of PLT slots and versioned ones count, too.
fn is_jumper(name: &[u8]) -> bool {
    const NAMES: [&[u8]; 15] = [
        b"longjmp",
        b"_longjmp",
        b"siglongjmp",
        b"__longjmp_chk",
        b"setcontext",
        b"swapcontext",
        b"_Unwind_RaiseException",
        b"_Unwind_Resume",
        b"_Unwind_Resume_or_Rethrow",
        b"_Unwind_ForcedUnwind",
        b"__cxa_throw",
        b"__cxa_rethrow",
        b"_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE",
        b"__cxa_call_terminate",
        b"pthread_exit",
    ];
    let end = name.iter().position(|byte| *byte == b'@').unwrap_or(name.len());
    name.get(..end).is_some_and(|name| NAMES.contains(&name))
}

/// Code of a module; where nothing but its first byte is known, as far as unwind information reaches.
fn code(module: &Module, range: Range<ElfAddr>) -> Range<RuntimeAddr> {
    let is_bare = range.end.0 <= range.start.0 + 1;
    let whole = is_bare.then(|| covered(&module.elf, range.start)).flatten().unwrap_or(range);
    whole.start.at(module.bias)..whole.end.at(module.bias)
}

fn is_vdso(module: &Module) -> bool {
    module.path == Path::new("[vdso]")
}

/// Whether a direct branch in `code`, read from its start on, leads to `target`.
fn branches_to(target: RuntimeAddr, code: CodeRange, memory: &OwnMemory, vendor: Vendor) -> bool {
    let mut bytes = vec![0; code.end.since(code.start) as usize];
    if !memory.read(code.start, &mut bytes) {
        return false;
    }
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        let Ok(instruction) = decode(rest, code.start.plus(at as u64), vendor) else {
            // Padding, or data between the instructions.
            at += 1;
            continue;
        };
        let branches =
            matches!(Class::of(&instruction), Class::Conditional | Class::Jump { indirect: false });
        if branches && instruction.near_branch_target() == target.0 {
            return true;
        }
        at += instruction.len();
    }
    false
}

fn code_range(range: &Range<RuntimeAddr>) -> CodeRange {
    CodeRange { start: range.start, end: range.end }
}

fn known_module(module: &Module) -> KnownModule {
    KnownModule {
        path: module.path.as_os_str().as_bytes().into(),
        bias: module.bias,
        build_id: module.elf.build_id().unwrap_or(&[]).into(),
        ranges: module.code.clone().into(),
    }
}

/// Where the file's own mapping has the bytes that were loaded at `range`, and how many of them.
fn file_bytes(module: &Module, range: &Range<RuntimeAddr>) -> Option<(RuntimeAddr, u64)> {
    let start = module.elf_address(range.start);
    let segment = module.elf.text_at(start)?;
    let length =
        (segment.start.0 + segment.file_size).saturating_sub(start.0).min(range.end.since(range.start));
    let bytes = module.elf.bytes_at(start, length)?;
    Some((RuntimeAddr(bytes.as_ptr() as u64), length))
}

/// The code that a name stands for, as dlsym(3) has it: of this version, with its `@`, or of the default one.
fn implementation(name: &str, version: Option<&str>) -> Option<RuntimeAddr> {
    let name = CString::new(name).ok()?;
    let version = version.and_then(|it| CString::new(it.trim_start_matches('@')).ok());
    // SAFETY: NUL-terminated names; dlsym and dlvsym run the resolver, which relocation has run before.
    let find = |version: Option<&CStr>| unsafe {
        match version {
            Some(version) => libc::dlvsym(libc::RTLD_DEFAULT, name.as_ptr(), version.as_ptr()),
            None => libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()),
        }
    };
    let address = find(version.as_deref());
    (!address.is_null()).then_some(RuntimeAddr(address as u64))
}
