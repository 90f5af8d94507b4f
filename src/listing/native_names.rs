//! Functions that a trace does not name: what ran out of scope, and what the loader chose for this CPU.
//!
//! A trace holds the symbols of code that was stepped into. What was only called has its name in its module's file.

use std::collections::HashMap;
use std::rc::Rc;

use super::leaving::{LINKAGE, Way};
use super::markers::{self, Back};
use super::module_files::ModuleFiles;
use super::place::{Place, file_name, name_of};
use super::visible::visible;
use crate::address::RuntimeAddr;
use crate::image::elf_symbols::SymbolKind;
use crate::image::function::{FunctionPattern, Place as Asked, find, name_matches};
use crate::image::names::demangle;
use crate::image::symbols::Symbol;
use crate::record::reader::Trace;

/// How a function is named that the loader chooses for this CPU (STT_GNU_IFUNC).
const INDIRECT: &str = "@ifunc";

/// What is known of functions by now.
pub struct NativeNames {
    files: Rc<ModuleFiles>,
    known: HashMap<RuntimeAddr, Place>,
    /// Whether what was asked for by name is an indirect function, and what was reached its choice.
    chosen: HashMap<(Rc<str>, RuntimeAddr), bool>,
    /// By entry, what was asked for.
    entries: HashMap<RuntimeAddr, Option<Rc<str>>>,
    /// By a function's name as the linker has it, where it is.
    definers: HashMap<Rc<str>, Option<Rc<str>>>,
}

impl NativeNames {
    #[must_use]
    pub fn new(files: Rc<ModuleFiles>) -> Self {
        Self {
            files,
            known: HashMap::new(),
            chosen: HashMap::new(),
            entries: HashMap::new(),
            definers: HashMap::new(),
        }
    }

    /// A `native` marker in words.
    pub fn text(&mut self, trace: &Trace, way: &Way, target: RuntimeAddr, back: Back) -> String {
        let left = self.place(trace, target).full(target);
        let stub = |at: RuntimeAddr| trace.symbol(at).filter(|hit| hit.symbol.raw.ends_with(LINKAGE));
        let left = match way {
            Way::Slot(raw) => {
                // The agent stands in front of what was called, and is no module of the program's.
                if trace.module(target).is_none() {
                    visible(&demangle(raw)).into_owned()
                } else {
                    self.choice(trace, raw, target).unwrap_or_default() + &left
                }
            }
            Way::Stub(at) | Way::Binding(at) => match stub(*at).filter(|_| *at != target) {
                None => left,
                Some(hit) => {
                    let name = name_of(hit.symbol);
                    let function = visible(name.trim_end_matches(LINKAGE));
                    let name = visible(&name);
                    if trace.module(target).is_none() {
                        name.into_owned()
                    } else if matches!(way, Way::Binding(_)) {
                        let raw = hit.symbol.raw.trim_end_matches(LINKAGE);
                        let defined = self.definer(trace, raw);
                        let function = defined.as_deref().unwrap_or(&function);
                        format!("{name} → {function} (bound on this call)")
                    } else {
                        let raw = hit.symbol.raw.trim_end_matches(LINKAGE);
                        format!("{name} → {}{left}", self.choice(trace, raw, target).unwrap_or_default())
                    }
                }
            },
            Way::Straight => match self.stub_at(trace, target).and_then(|raw| self.definer(trace, &raw)) {
                Some(function) => format!("{left} → {function}"),
                None => left,
            },
        };
        markers::native(&left, back, |resume| Place::of(trace, resume).short(resume))
    }

    /// `strlen@ifunc → ` where what was asked for as `raw` is an indirect function and `target` what was chosen.
    pub fn choice(&mut self, trace: &Trace, raw: &str, target: RuntimeAddr) -> Option<String> {
        self.is_chosen(trace, raw, target).then(|| format!("{}{INDIRECT} → ", visible(&demangle(raw))))
    }

    /// The same for an entry at `address`, where one of the functions that were asked for is indirect and this is what was
    /// chosen; `None` also where it may be another one of them.
    pub fn entered(&mut self, trace: &Trace, address: RuntimeAddr) -> Option<Rc<str>> {
        if let Some(known) = self.entries.get(&address) {
            return known.clone();
        }
        let name = self.asked_for(trace, address).map(|name| format!("{name}{INDIRECT} → ").into());
        self.entries.insert(address, name.clone());
        name
    }

    fn asked_for(&self, trace: &Trace, address: RuntimeAddr) -> Option<String> {
        let asked: Result<Vec<_>, _> =
            trace.header.functions.iter().map(|asked| FunctionPattern::parse(asked)).collect();
        let asked = asked.ok()?;
        let by_own_name = |name: &str| {
            trace.symbol(address).is_some_and(|hit| hit.offset == 0 && name_matches(name, &hit.symbol.raw))
        };
        for pattern in &asked {
            match &pattern.place {
                Asked::Name(name) if !by_own_name(name) => {}
                _ => return None,
            }
        }
        let module = trace.module(address)?;
        let (file, at) = self.files.symbols_at(trace, address)?;
        let found: Vec<_> =
            asked.iter().flat_map(|pattern| find(pattern, file.symbols(), &module.path)).collect();
        if found.iter().any(|it| it.entry == at) {
            return None;
        }
        let mut indirect = found.iter().filter(|it| it.symbol.kind == SymbolKind::IndirectFunction);
        let (Some(only), None) = (indirect.next(), indirect.next()) else { return None };
        Some(visible(&only.symbol.name()).into_owned())
    }

    /// Of the stub of the linkage table that begins at this address, the function's name as the linker has it.
    fn stub_at(&self, trace: &Trace, address: RuntimeAddr) -> Option<Rc<str>> {
        let (file, at) = self.files.symbols_at(trace, address)?;
        let (symbol, offset) = file.symbols().at(at)?;
        let stub = symbol.kind == SymbolKind::Plt && offset == 0;
        stub.then(|| symbol.raw().trim_end_matches(LINKAGE).into())
    }

    /// `libc.so.6!strtol`: the module that has the function of this name, as the linker has it, if one alone has it. Which one
    /// the loader would take of several, files do not say.
    fn definer(&mut self, trace: &Trace, raw: &str) -> Option<Rc<str>> {
        if let Some(known) = self.definers.get(raw) {
            return known.clone();
        }
        let defines = |symbol: &&Symbol| {
            symbol.kind != SymbolKind::Plt && !symbol.local && symbol.names().any(|name| name == raw)
        };
        let mut found = trace.modules().iter().filter_map(|module| {
            let file = self.files.of(module)?;
            let kind = file.symbols().symbols().iter().find(defines)?.kind;
            let indirect = if kind == SymbolKind::IndirectFunction { INDIRECT } else { "" };
            Some(format!("{}!{}{indirect}", visible(file_name(&module.path)), visible(&demangle(raw))))
        });
        let only = found.next().filter(|_| found.next().is_none()).map(Into::into);
        self.definers.insert(raw.into(), only.clone());
        only
    }

    /// Whether `target`'s module has an indirect function of this name, and this is not its own code, which chooses.
    fn is_chosen(&mut self, trace: &Trace, raw: &str, target: RuntimeAddr) -> bool {
        let key = (Rc::from(raw), target);
        if let Some(known) = self.chosen.get(&key) {
            return *known;
        }
        let chosen = self.files.symbols_at(trace, target).is_some_and(|(file, at)| {
            let is_it = |symbol: &Symbol| {
                symbol.kind == SymbolKind::IndirectFunction
                    && symbol.names().any(|name| name == raw)
                    && symbol.address != at
            };
            file.symbols().symbols().iter().any(is_it)
        });
        self.chosen.insert(key, chosen);
        chosen
    }

    fn place(&mut self, trace: &Trace, address: RuntimeAddr) -> &Place {
        let files = &self.files;
        self.known.entry(address).or_insert_with(|| {
            let mut place = Place::of(trace, address);
            if let (None, Some((file, at))) = (&place.symbol, files.symbols_at(trace, address)) {
                let found = file.symbols().at(at);
                let found = found.map(|(symbol, offset)| (Rc::from(&*visible(&symbol.name())), offset));
                // Only a function's first address is one that is called: what lies behind it may be another one's.
                place.symbol = found.filter(|(_, offset)| *offset == 0);
            }
            place
        })
    }
}
