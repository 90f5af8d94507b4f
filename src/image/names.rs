//! Symbol names: versions, compiler clones, mangling.

use std::borrow::Cow;

/// Suffixes that compilers put behind the name of a copy or a part of a function: gcc's optimisers, LTO, LLVM.
const CLONE_SUFFIXES: [&str; 11] = [
    ".constprop.",
    ".isra.",
    ".part.",
    ".cold",
    ".lto_priv.",
    ".llvm.",
    ".clone.",
    ".localalias",
    ".warm",
    ".hot",
    ".unlikely",
];

/// `name` without its symbol version: `memcpy@@GLIBC_2.14` is `memcpy`.
#[must_use]
pub fn strip_version(name: &str) -> &str {
    match name.find('@') {
        Some(at) if at > 0 => &name[..at],
        _ => name,
    }
}

/// The name of the function that a clone is a clone of: `f.isra.0.cold` is `f`.
#[must_use]
pub fn base(name: &str) -> &str {
    // A leading dot starts a name, not a suffix. Dot by dot: this runs for every symbol of a process, and most
    // names have none.
    let mut dots = name.match_indices('.').map(|(at, _)| at).filter(|&at| at > 0);
    let end = dots.find(|&at| CLONE_SUFFIXES.iter().any(|suffix| name[at..].starts_with(suffix)));
    end.map_or(name, |end| &name[..end])
}

/// Of a `.cold` part, the symbol that it was cut out of: `f.isra.0.cold` is part of `f.isra.0`.
#[must_use]
pub fn cold_part_of(name: &str) -> Option<&str> {
    let at = if name.contains('.') { name.rfind(".cold")? } else { return None };
    let rest = &name[at + ".cold".len()..];
    let numbered = rest.strip_prefix('.').is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
    (at > 0 && (rest.is_empty() || numbered)).then(|| &name[..at])
}

/// The name as its language writes it: Rust paths without the hash, C++ with parameters; any other unchanged.
/// The suffixes of clones stay behind it, and so does what tells a stub from its function (`_Znwm@plt`).
#[must_use]
pub fn demangle(raw: &str) -> Cow<'_, str> {
    let base = base(strip_version(raw));
    let suffix = &raw[base.len()..];
    match demangle_base(base) {
        Some(name) => Cow::Owned(name + suffix),
        None => Cow::Borrowed(raw),
    }
}

fn demangle_base(base: &str) -> Option<String> {
    if !base.starts_with('_') {
        return None;
    }
    if let Ok(rust) = rustc_demangle::try_demangle(base) {
        return Some(format!("{rust:#}"));
    }
    if let Some(name) = super::cpp::demangle(base) {
        return Some(name);
    }
    // cpp_demangle takes plain C names for type names; only what has the prefix is mangled.
    if !base.starts_with("_Z") && !base.starts_with("__Z") {
        return None;
    }
    cpp_demangle::Symbol::new(base).ok()?.demangle().ok()
}

/// Parts of a function's demangled name, as a person may type them. Each is shorter than the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spellings<'a> {
    /// Without return type and qualifiers: of `int ns::f<int>(char) const` it is `ns::f<int>(char)`.
    pub call: &'a str,
    /// Without parameters: `ns::f<int>`.
    pub qualified: &'a str,
    /// Without the template arguments and ABI tags of the last component: `ns::f`.
    pub path: &'a str,
}

impl<'a> Spellings<'a> {
    #[must_use]
    pub fn of(demangled: &'a str) -> Self {
        // A thunk is no function that anybody means by the function's own name.
        if !demangled.contains(['(', '<', ' ', ':']) || demangled.contains(" thunk to ") {
            return Self { call: demangled, qualified: demangled, path: demangled };
        }
        let (before, _) = split_qualifiers(demangled);
        let mut start = 0;
        let mut parameters = None;
        for (at, piece) in pieces(before) {
            if piece == " " && separates(&before[at..]) {
                start = at + 1;
            } else if piece.starts_with('(') && at > start && at + piece.len() == before.len() {
                parameters = Some(at);
            }
        }
        let qualified = &before[start..parameters.unwrap_or(before.len())];
        // The name of a function that gives back a pointer to one stands in the middle: `int (*f<char>(char))(int)`.
        let middle = qualified.strip_prefix("(*").or_else(|| qualified.strip_prefix("(&"));
        if let Some(middle) = middle.and_then(|it| it.strip_suffix(')')) {
            return Self::of(middle);
        }
        Self { call: &before[start..], qualified, path: without_last_arguments(qualified) }
    }
}

/// A demangled name without parameters, return type and template arguments of its last component:
/// `int ns::f<int>(char) const` is `ns::f`.
#[must_use]
pub fn path(demangled: &str) -> &str {
    Spellings::of(demangled).path
}

/// What stands behind the last `::` outside brackets.
#[must_use]
pub fn last_component(path: &str) -> &str {
    &path[last_component_start(path)..]
}

/// A name without any template arguments: `ns::Box<int>::get` is `ns::Box::get`.
#[must_use]
pub fn without_arguments(qualified: &str) -> String {
    // What begins a component is no argument: `<A as B>::f`, `a::<impl b::C>::f`.
    let is_argument =
        |at: usize, piece: &str| piece.starts_with('<') && at > 0 && !qualified[..at].ends_with("::");
    pieces(qualified).filter(|(at, piece)| !is_argument(*at, piece)).map(|(_, piece)| piece).collect()
}

fn without_last_arguments(qualified: &str) -> &str {
    let start = last_component_start(qualified);
    let is_extra = |at: usize, piece: &str| at > 0 && (piece.starts_with('<') || piece.starts_with("[abi:"));
    let extra = pieces(&qualified[start..]).find(|(at, piece)| is_extra(*at, piece));
    let name = extra.map_or(qualified, |(at, _)| &qualified[..start + at]).trim_end();
    name.strip_suffix("::").unwrap_or(name)
}

fn last_component_start(path: &str) -> usize {
    // `f::<u32>` has its generic arguments behind a path separator.
    let starts = |at: usize| path[at..].starts_with("::") && !path[at + 2..].starts_with('<');
    pieces(path).filter(|&(at, piece)| piece == ":" && starts(at)).last().map_or(0, |(at, _)| at + 2)
}

/// Splits off what C++ says of a method behind its parameters.
fn split_qualifiers(text: &str) -> (&str, &str) {
    let mut name = text;
    while let Some(shorter) = [" const", " volatile", " &&", " &"].iter().find_map(|it| name.strip_suffix(it))
    {
        name = shorter;
    }
    // `operator &` and the like are no qualifiers.
    if name.ends_with("operator") { (text, "") } else { text.split_at(name.len()) }
}

/// Whether the space that `rest` starts with ends a return type. It does not before the arguments of `operator< <int>`, and
/// not before the qualifiers of a function that something local is in: `A::f() const::{lambda()#1}`.
fn separates(rest: &str) -> bool {
    let local = rest.find("::").is_some_and(|at| split_qualifiers(&rest[..at]).0.is_empty());
    !local && !rest.starts_with(" as ") && !rest.starts_with(" <")
}

/// Names of operators in symbols; a longer one before its beginning.
const OPERATORS: [&str; 45] = [
    "<=>",
    "->*",
    "<<=",
    ">>=",
    "()",
    "[]",
    "->",
    "++",
    "--",
    "<<",
    ">>",
    "<=",
    ">=",
    "==",
    "!=",
    "&&",
    "||",
    "+=",
    "-=",
    "*=",
    "/=",
    "%=",
    "^=",
    "&=",
    "|=",
    "+",
    "-",
    "*",
    "/",
    "%",
    "^",
    "&",
    "|",
    "~",
    "!",
    "=",
    "<",
    ">",
    ",",
    " new[]",
    " delete[]",
    " new",
    " delete",
    " co_await",
    "?",
];

/// A name from left to right, with the place of each piece: a bracket with all that is in it, an operator's name, or one
/// character.
fn pieces(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
        let length = operator(text, at).or_else(|| bracketed(rest));
        let length = length.unwrap_or_else(|| rest.chars().next().map_or(1, char::len_utf8));
        let piece = (at, &rest[..length]);
        at += length;
        Some(piece)
    })
}

/// The length of the operator's name that stands at `at`: `operator<`, `operator int`.
fn operator(text: &str, at: usize) -> Option<usize> {
    const WORD: &str = "operator";
    let behind = text[at..].strip_prefix(WORD)?;
    let inside_a_word = |c: char| c.is_alphanumeric() || c == '_';
    if text[..at].ends_with(inside_a_word) || behind.starts_with(inside_a_word) {
        return None;
    }
    if let Some(symbol) = OPERATORS.iter().find(|symbol| behind.starts_with(**symbol)) {
        return Some(WORD.len() + symbol.len());
    }
    // A conversion: the type it is to, up to the parameters.
    let parameters = pieces(behind).find(|(_, piece)| piece.starts_with('('));
    Some(WORD.len() + parameters.map_or(behind.len(), |(at, _)| at))
}

/// The length of the bracket that `text` starts with, if it is closed.
fn bracketed(text: &str) -> Option<usize> {
    let mut depth = 0_i32;
    let mut at = 0;
    while let Some(character) = text[at..].chars().next() {
        if let Some(length) = operator(text, at).filter(|_| depth > 0) {
            at += length;
            continue;
        }
        match character {
            '<' | '(' | '{' | '[' => depth += 1,
            // The arrow of `fn() -> T` closes nothing.
            '>' if text[..at].ends_with('-') => {}
            '>' | ')' | '}' | ']' => depth -= 1,
            _ => {}
        }
        if depth <= 0 {
            return (depth == 0 && at > 0).then_some(at + 1);
        }
        at += character.len_utf8();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_clones_are_suffixes() {
        assert_eq!(strip_version("memcpy@@GLIBC_2.14"), "memcpy");
        assert_eq!(strip_version("memcpy@GLIBC_2.2.5"), "memcpy");
        assert_eq!(base("f.constprop.0.isra.1"), "f");
        assert_eq!(base("f.part.0.cold"), "f");
        assert_eq!(base("f.cold"), "f");
        assert_eq!(base("main"), "main");
        assert_eq!(cold_part_of("f.isra.0.cold"), Some("f.isra.0"));
        assert_eq!(cold_part_of("f.cold.12"), Some("f"));
        assert_eq!(cold_part_of("f.colder"), None);
    }

    #[test]
    fn both_languages_are_demangled() {
        assert_eq!(
            demangle("_ZN7mycrate5tests11parse_works17h05af221e174051e9E"),
            "mycrate::tests::parse_works"
        );
        assert_eq!(demangle("_RNvCs1234_7mycrate3foo"), "mycrate::foo");
        assert_eq!(demangle("_ZN2ns3addEii"), "ns::add(int, int)");
        assert_eq!(demangle("_ZN2ns3addEii.cold"), "ns::add(int, int).cold");
        assert_eq!(demangle("_Znwm@plt"), "operator new(unsigned long)@plt");
        assert_eq!(demangle("_RNvCs1234_7mycrate3foo@plt"), "mycrate::foo@plt");
        assert_eq!(demangle("gcd"), "gcd");
        assert_eq!(demangle("_start"), "_start");
    }

    #[test]
    fn paths_lose_what_is_not_their_name() {
        assert_eq!(path("ns::add(int, int)"), "ns::add");
        assert_eq!(path("int ns::max<int>(int, int)"), "ns::max");
        assert_eq!(path("mycrate::tests::parse_works"), "mycrate::tests::parse_works");
        assert_eq!(path("mycrate::get::<u32>"), "mycrate::get");
        assert_eq!(path("<mycrate::A as core::fmt::Debug>::fmt"), "<mycrate::A as core::fmt::Debug>::fmt");
        assert_eq!(last_component("<mycrate::A as core::fmt::Debug>::fmt"), "fmt");
        assert_eq!(last_component("mycrate::tests::parse_works"), "parse_works");
        assert_eq!(last_component("gcd"), "gcd");
        assert_eq!(
            path("core::ops::function::FnOnce::call_once::<fn(u8) -> u8>"),
            "core::ops::function::FnOnce::call_once"
        );
        assert_eq!(
            last_component(path("std::vector<int, std::allocator<int> >::push_back(int const&)")),
            "push_back"
        );
    }

    #[test]
    fn every_form_of_c_plus_plus_has_its_parts() {
        for (demangled, call, qualified, path) in [
            ("S::get(int) const", "S::get(int)", "S::get", "S::get"),
            ("B::rv(int) &&", "B::rv(int)", "B::rv", "B::rv"),
            ("B::cv(int) const volatile &", "B::cv(int)", "B::cv", "B::cv"),
            (
                "ns::Box<int>::get(int) const",
                "ns::Box<int>::get(int)",
                "ns::Box<int>::get",
                "ns::Box<int>::get",
            ),
            ("int add<int>(int, int)", "add<int>(int, int)", "add<int>", "add"),
            ("unsigned long add<A<int> >(A<int>)", "add<A<int> >(A<int>)", "add<A<int> >", "add"),
            ("decltype ({parm#1}+(1)) fwd<int>(int&&)", "fwd<int>(int&&)", "fwd<int>", "fwd"),
            (
                "(anonymous namespace)::f(int)",
                "(anonymous namespace)::f(int)",
                "(anonymous namespace)::f",
                "(anonymous namespace)::f",
            ),
            ("B::operator<(B const&)", "B::operator<(B const&)", "B::operator<", "B::operator<"),
            ("bool operator< <int>(A<int>)", "operator< <int>(A<int>)", "operator< <int>", "operator<"),
            ("B::operator->()", "B::operator->()", "B::operator->", "B::operator->"),
            ("S::operator()(int)", "S::operator()(int)", "S::operator()", "S::operator()"),
            (
                "B::operator unsigned int() const",
                "B::operator unsigned int()",
                "B::operator unsigned int",
                "B::operator unsigned int",
            ),
            ("operator new(unsigned long)", "operator new(unsigned long)", "operator new", "operator new"),
            ("f[abi:cxx11](int)", "f[abi:cxx11](int)", "f[abi:cxx11]", "f"),
            ("int (*f<char>(char))(int)", "f<char>(char)", "f<char>", "f"),
            (
                "A::f(int) const::{lambda(int)#1}::operator()(int) const",
                "A::f(int) const::{lambda(int)#1}::operator()(int)",
                "A::f(int) const::{lambda(int)#1}::operator()",
                "A::f(int) const::{lambda(int)#1}::operator()",
            ),
            (
                "virtual thunk to B::f()",
                "virtual thunk to B::f()",
                "virtual thunk to B::f()",
                "virtual thunk to B::f()",
            ),
            ("operators(int)", "operators(int)", "operators", "operators"),
        ] {
            assert_eq!(Spellings::of(demangled), Spellings { call, qualified, path }, "{demangled}");
        }
        assert_eq!(without_arguments("ns::Box<int>::get<char>"), "ns::Box::get");
        assert_eq!(without_arguments("<A as B<u8>>::f"), "<A as B<u8>>::f");
    }
}
