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

/// A demangled name without parameters, return type and template arguments of its last component:
/// `int ns::f<int>(char) const` is `ns::f`.
#[must_use]
pub fn path(demangled: &str) -> &str {
    let start = top_level(demangled, |rest| rest.starts_with(' ') && !rest.starts_with(" as "))
        .filter(|&at| !demangled[..at].ends_with("operator"))
        .map_or(0, |at| at + 1);
    let name = &demangled[start..];
    let end = name.find('(').filter(|&at| at > 0 && !name.starts_with('<')).unwrap_or(name.len());
    let name = &name[..end];
    let arguments = last_component_start(name) + 1;
    let open = name.get(arguments..).and_then(|last| last.find('<'));
    let name = open.map_or(name, |at| &name[..arguments + at]);
    name.strip_suffix("::").unwrap_or(name)
}

/// What stands behind the last `::` outside brackets.
#[must_use]
pub fn last_component(path: &str) -> &str {
    &path[last_component_start(path)..]
}

fn last_component_start(path: &str) -> usize {
    let mut start = 0;
    let mut from = 0;
    while let Some(at) = top_level(&path[from..], |rest| rest.starts_with("::")) {
        from += at + 2;
        // `f::<u32>` has its generic arguments behind a path separator.
        if !path[from..].starts_with('<') {
            start = from;
        }
    }
    start
}

/// The first position outside all brackets where `wanted` holds.
fn top_level(text: &str, wanted: impl Fn(&str) -> bool) -> Option<usize> {
    let mut depth = 0_i32;
    for (at, character) in text.char_indices() {
        match character {
            '<' | '(' | '{' | '[' => depth += 1,
            // The arrow of `fn() -> T` closes nothing.
            '>' if text[..at].ends_with('-') => {}
            '>' | ')' | '}' | ']' => depth -= 1,
            _ if depth == 0 && wanted(&text[at..]) => return Some(at),
            _ => {}
        }
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
            last_component(path("std::vector<int, std::allocator<int> >::push_back(int const&)")),
            "push_back"
        );
    }
}
