//! The functions a user asks for: parsing the request, finding it, suggesting others.

use super::elf_symbols::SymbolKind;
use super::glob::{glob, is_closed};
use super::names::{self, Spellings};
use super::symbols::{Symbol, SymbolTable};
use crate::address::{ElfAddr, RuntimeAddr};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

/// What `-f` was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionPattern {
    /// Only in this module, if any: its file name, with or without what follows `.so`, or its path; a glob too.
    pub module: Option<String>,
    pub place: Place,
}

/// Where in the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A name or a glob of `*`, `?` and `[…]`.
    Name(String),
    /// `module+0xoffset`: the address that the module's file gives the place.
    Offset(ElfAddr),
    /// `0xaddress` in the running process.
    Address(RuntimeAddr),
    /// `file.c:line`.
    Line { file: String, line: u32 },
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    #[error("an empty function name; `overstep symbols PROGRAM` lists what there is")]
    Empty,
    #[error("`{0}` has no module before the `!`; write `libc.so.6!puts`")]
    NoModule(String),
    #[error("`{0}` is no hexadecimal number of up to 64 bits; write `0x1139`")]
    BadNumber(String),
    #[error("`{0}` opens a `[` that it does not close")]
    BadGlob(String),
}

/// A function that a pattern names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match<'a> {
    /// Where a call starts: the symbol's address, or the very place that was asked for by number. Of a symbol of
    /// kind `IndirectFunction` it is the resolver; what callers reach is what that returns.
    pub entry: ElfAddr,
    /// Made up where the file names nothing.
    pub symbol: Cow<'a, Symbol>,
    /// The function itself first, then its `.cold` parts. All of them are in scope.
    pub ranges: Vec<Range<ElfAddr>>,
}

impl FunctionPattern {
    /// Reads `name`, a glob, `module!name`, `module+0xoffset`, `0xaddress` or `file.c:line`.
    ///
    /// # Errors
    /// [`PatternError`].
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(PatternError::Empty);
        }
        if let Some(digits) = text.strip_prefix("0x") {
            let address = hexadecimal(digits, text)?;
            return Ok(Self { module: None, place: Place::Address(RuntimeAddr(address)) });
        }
        if let Some((module, digits)) = text.rsplit_once("+0x").filter(|(module, _)| !module.is_empty()) {
            let offset = ElfAddr(hexadecimal(digits, text)?);
            return Ok(Self { module: Some(module.to_owned()), place: Place::Offset(offset) });
        }
        if let Some((file, line)) = source_line(text) {
            return Ok(Self { module: None, place: Place::Line { file: file.to_owned(), line } });
        }
        // `operator!` is a name of its own, and `[!a]` a set.
        let separates = |m: &str| !m.ends_with("operator") && !m.contains('[');
        let (module, name) = match text.split_once('!').filter(|(m, _)| separates(m)) {
            Some(("", _)) => return Err(PatternError::NoModule(text.to_owned())),
            Some((_, "")) => return Err(PatternError::Empty),
            Some((module, name)) => (Some(module.to_owned()), name),
            None => (None, text),
        };
        if !is_closed(name) {
            return Err(PatternError::BadGlob(text.to_owned()));
        }
        Ok(Self { module, place: Place::Name(name.to_owned()) })
    }

    /// Whether the pattern looks into the module of this path at all.
    #[must_use]
    pub fn admits_module(&self, path: &str) -> bool {
        let Some(wanted) = &self.module else { return true };
        let file = path.rsplit('/').next().unwrap_or(path);
        let stem = file.split_once(".so").map_or(file, |(stem, _)| stem);
        [path, file, stem].iter().any(|name| glob(wanted, name))
    }
}

/// The functions of `table` that `pattern` names, by address; empty when the module is another one, for runtime
/// addresses ([`find_at`] takes them, once the module is known) and for source lines, which need debug
/// information.
#[must_use]
pub fn find<'a>(pattern: &FunctionPattern, table: &'a SymbolTable, module: &str) -> Vec<Match<'a>> {
    if !pattern.admits_module(module) {
        return Vec::new();
    }
    let name = match &pattern.place {
        Place::Name(name) => name,
        Place::Offset(address) => return find_at(table, *address).into_iter().collect(),
        Place::Address(_) | Place::Line { .. } => return Vec::new(),
    };
    // `memcpy@GLIBC_2.14` says of the default version no more than `memcpy@@GLIBC_2.14`.
    let version_matches =
        |versioned: &str| glob(name, versioned) || glob(name, &versioned.replacen("@@", "@", 1));
    let named = |s: &&Symbol| {
        s.names().any(|raw| name_matches(name, raw))
            || name.contains('@') && s.versioned().any(version_matches)
    };
    let found: Vec<&Symbol> = table.symbols().iter().filter(named).collect();
    // A `.cold` part that matches by its base name is in its function's ranges, no function of its own.
    let parts: BTreeSet<ElfAddr> =
        found.iter().flat_map(|s| table.cold_parts(s)).map(|part| part.address).collect();
    let functions = found.into_iter().filter(|s| !parts.contains(&s.address));
    functions.map(|symbol| Match::of(table, symbol.address, Cow::Borrowed(symbol))).collect()
}

/// The function that `address` is in, to be entered at `address`; without a symbol there, the code up to the
/// next symbol. `None` where the file has no code.
#[must_use]
pub fn find_at(table: &SymbolTable, address: ElfAddr) -> Option<Match<'_>> {
    let symbol = match table.at(address) {
        Some((symbol, _)) => Cow::Borrowed(symbol),
        None => Cow::Owned(table.unnamed_at(address)?),
    };
    Some(Match::of(table, address, symbol))
}

impl<'a> Match<'a> {
    fn of(table: &SymbolTable, entry: ElfAddr, symbol: Cow<'a, Symbol>) -> Self {
        let cold = table.cold_parts(&symbol).into_iter().map(Symbol::range);
        Self { entry, ranges: std::iter::once(symbol.range()).chain(cold).collect(), symbol }
    }
}

/// Whether the trace of a call can begin at the symbol: a stub of the PLT only jumps to the function, which matches on its
/// own.
#[must_use]
pub fn is_entered(symbol: &Symbol) -> bool {
    symbol.kind != SymbolKind::Plt
}

/// Whether `wanted` (a name or a glob) means the symbol called `raw`.
#[must_use]
pub fn name_matches(wanted: &str, raw: &str) -> bool {
    let base = names::base(raw);
    let full = names::demangle(raw);
    let whole = names::demangle(base);
    let Spellings { call, qualified, path } = Spellings::of(&whole);
    let forms = [raw, base, &full, &whole, call, qualified, path];
    if forms.iter().any(|form| glob(wanted, form)) {
        return true;
    }
    let forms = [call, qualified, path];
    if forms.iter().any(|form| glob(wanted, names::last_component(form)) || ends_at_component(form, wanted)) {
        return true;
    }
    if !qualified.contains('<') {
        return false;
    }
    // Templates: without their arguments, or with spaces between them that a person sets otherwise.
    let bare = names::without_arguments(qualified);
    let unspaced = |text: &str| text.replace(' ', "");
    let tight = wanted.contains('<').then(|| unspaced(wanted));
    glob(wanted, &bare)
        || ends_at_component(&bare, wanted)
        || tight.is_some_and(|tight| {
            forms.map(unspaced).iter().any(|form| glob(&tight, form) || ends_at_component(form, &tight))
        })
}

/// Whether `wanted` is `path` without its first components: `tests::works` of `mycrate::tests::works`.
fn ends_at_component(path: &str, wanted: &str) -> bool {
    path.strip_suffix(wanted).is_some_and(|rest| rest.ends_with("::"))
}

/// The `n` functions whose names are nearest to `name`, nearest first; none that shares hardly a letter.
#[must_use]
pub fn nearest(name: &str, table: &SymbolTable, n: usize) -> Vec<String> {
    let wanted = names::last_component(names::path(name));
    let mut near: BTreeSet<(usize, usize, String)> = BTreeSet::new();
    for raw in table.symbols().iter().flat_map(Symbol::names) {
        let whole = names::demangle(names::base(raw));
        let Spellings { qualified, path, .. } = Spellings::of(&whole);
        // The last component decides, all of it between two that have the same: `S::gte` is nearer to `S::get` than to
        // `T::get`.
        if let Some(near_by) = small_distance(wanted, names::last_component(path)) {
            let rest = if wanted.len() < name.len() { distance(name, path) } else { 0 };
            near.insert((near_by, rest, qualified.to_owned()));
        }
    }
    near.into_iter().take(n).map(|(_, _, name)| name).collect()
}

/// The `n` of `candidates` that are nearest to `name`, nearest first; none that shares hardly a letter.
pub fn nearest_of<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>, n: usize) -> Vec<&'c str> {
    let near = candidates.into_iter().filter_map(|it| Some((small_distance(name, it)?, it)));
    near.collect::<BTreeSet<_>>().into_iter().take(n).map(|(_, it)| it).collect()
}

/// The distance of two names, if it is small enough for one to be a slip for the other.
fn small_distance(name: &str, candidate: &str) -> Option<usize> {
    let limit = name.chars().count().div_ceil(2).clamp(1, 8);
    // Lengths are cheap, and they bound the distance from below.
    let near = candidate.len().abs_diff(name.len()) <= limit;
    near.then(|| distance(name, candidate)).filter(|distance| *distance <= limit)
}

/// Levenshtein distance in characters.
fn distance(one: &str, two: &str) -> usize {
    let two: Vec<char> = two.chars().collect();
    let mut row: Vec<usize> = (0..=two.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, b) in two.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[two.len()]
}

fn hexadecimal(digits: &str, whole: &str) -> Result<u64, PatternError> {
    u64::from_str_radix(digits, 16).map_err(|_| PatternError::BadNumber(whole.to_owned()))
}

/// `gcd.c:12`; a path separator of a language (`a::12`) is none.
fn source_line(text: &str) -> Option<(&str, u32)> {
    let (file, line) = text.rsplit_once(':')?;
    let looks_like_a_file = file.contains('.') && !file.ends_with(':');
    looks_like_a_file.then_some(())?;
    line.parse().ok().filter(|line| *line > 0).map(|line| (file, line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(module: Option<&str>, name: &str) -> FunctionPattern {
        FunctionPattern { module: module.map(str::to_owned), place: Place::Name(name.to_owned()) }
    }

    #[test]
    fn every_form_is_read() {
        let parse = |text| FunctionPattern::parse(text).unwrap();
        assert_eq!(parse("gcd"), named(None, "gcd"));
        assert_eq!(parse("libc.so.6!str*"), named(Some("libc.so.6"), "str*"));
        assert_eq!(parse("A::operator!="), named(None, "A::operator!="));
        assert_eq!(parse("[!a]*"), named(None, "[!a]*"));
        assert_eq!(parse("a::b"), named(None, "a::b"));
        assert_eq!(parse("0x401136").place, Place::Address(RuntimeAddr(0x40_1136)));
        let offset = parse("a.out+0x1139");
        assert_eq!((offset.module.as_deref(), offset.place), (Some("a.out"), Place::Offset(ElfAddr(0x1139))));
        assert_eq!(parse("src/gcd.c:12").place, Place::Line { file: "src/gcd.c".into(), line: 12 });
    }

    #[test]
    fn what_cannot_be_meant_is_an_error() {
        let parse = FunctionPattern::parse;
        assert_eq!(parse("  "), Err(PatternError::Empty));
        assert_eq!(parse("libc.so.6!"), Err(PatternError::Empty));
        assert_eq!(parse("!gcd"), Err(PatternError::NoModule("!gcd".into())));
        assert_eq!(parse("0xg"), Err(PatternError::BadNumber("0xg".into())));
        assert_eq!(parse("a.out+0x"), Err(PatternError::BadNumber("a.out+0x".into())));
        assert_eq!(parse("a[b"), Err(PatternError::BadGlob("a[b".into())));
    }

    #[test]
    fn modules_go_by_file_name_stem_path_or_glob() {
        let path = "/usr/lib/x86_64-linux-gnu/libc.so.6";
        for module in ["libc.so.6", "libc", path, "libc*"] {
            assert!(named(Some(module), "puts").admits_module(path), "{module}");
        }
        assert!(!named(Some("libm"), "puts").admits_module(path));
        assert!(named(None, "puts").admits_module(path));
    }

    #[test]
    fn names_match_in_every_spelling() {
        let rust = "_ZN7mycrate5tests11parse_works17h05af221e174051e9E";
        for wanted in
            ["parse_works", "tests::parse_works", "mycrate::tests::parse_works", "*parse_works*", rust]
        {
            assert!(name_matches(wanted, rust), "{wanted}");
        }
        for wanted in ["works", "ests::parse_works", "parse", "mycrate"] {
            assert!(!name_matches(wanted, rust), "{wanted}");
        }
        let cpp = "_ZN2ns3addEii";
        for wanted in ["add", "ns::add", "ns::add(int, int)", "ns::*"] {
            assert!(name_matches(wanted, cpp), "{wanted}");
        }
        // S::get(int) const; int add<int>(int, int); ns::Box<int>::get(int) const; (anonymous namespace)::anon(int);
        // B::operator<(B const&); A::f() const::{lambda()#1}::operator()() const
        for (raw, right, wrong) in [
            ("_ZNK1S3getEi", ["S::get", "get", "S::get(int)", "S::get(int) const"], ["S", "et"]),
            ("_Z3addIiET_S0_S0_", ["add", "add<int>", "add<int>(int, int)", "add<*>"], ["int", "add<char>"]),
            (
                "_ZNK2ns3BoxIiE3getEi",
                ["ns::Box<int>::get", "Box<int>::get", "ns::Box<*>::get", "Box::get"],
                ["Box", "ox::get"],
            ),
            (
                "_ZN12_GLOBAL__N_14anonEi",
                ["anon", "(anonymous namespace)::anon", "anon(int)", "_ZN12_GLOBAL__N_14anonEi"],
                ["anonymous", "(anonymous namespace)"],
            ),
            (
                "_ZN1BltERKS_",
                ["B::operator<", "operator<", "operator<(B const&)", "B::operator*"],
                ["B", "operator"],
            ),
            (
                "_ZZNK1A1fEvENKUlvE_clEv",
                ["operator()", "{lambda()#1}::operator()", "A::f*", "*lambda*"],
                ["A::f", "f"],
            ),
        ] {
            assert!(right.iter().all(|wanted| name_matches(wanted, raw)), "{raw}");
            assert!(!wrong.iter().any(|wanted| name_matches(wanted, raw)), "{raw}");
        }
        assert!(name_matches("pair<int,A<int>>::f", "_ZN4pairIi1AIiEE1fEv"), "pair<int, A<int> >::f()");
        assert!(name_matches("f", "f.constprop.0.isra.1"));
        assert!(!name_matches("f", "f2.constprop.0"));
    }

    #[test]
    fn edit_distance() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("gcd", "gcd"), 0);
        assert_eq!(nearest_of("gdc.c", ["main.c", "gcd.c", "gdc.h"], 1), ["gdc.h"]);
        assert_eq!(nearest_of("gdc.c", ["qsort.c", "gcd.c"], 3), ["gcd.c"]);
    }
}
