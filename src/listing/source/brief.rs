//! Function names as short as a heading wants them.

/// The name without the paths of its parts: `<core::slice::iter::Iter<T> as core::iter::traits::iterator::Iterator>::fold`
/// is `<Iter<T> as Iterator>::fold`, and `core::iter::Iterator::sum` is `Iterator::sum`.
#[must_use]
pub fn brief(name: &str) -> String {
    let in_path = |c: char| c.is_alphanumeric() || "_:{}#".contains(c);
    let mut short = String::new();
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| in_path(c) != in_path(first)).unwrap_or(rest.len());
        let (part, behind) = rest.split_at(end);
        short.push_str(if in_path(first) { last_parts(part) } else { part });
        rest = behind;
    }
    short
}

/// The last part of a path, with the type before it where that is what says most. Generic arguments may follow behind
/// `::`, which then stays.
fn last_parts(path: &str) -> &str {
    if let Some(function) = path.strip_suffix("::").filter(|function| !function.is_empty()) {
        let short = last_parts(function);
        return &path[function.len() - short.len()..];
    }
    let mut starts = path.rmatch_indices("::").map(|(at, _)| at + 2);
    let Some(last) = starts.next().filter(|_| !path.starts_with("::")) else { return path };
    let before = starts.next().unwrap_or(0);
    let is_type = path[before..].starts_with(char::is_uppercase);
    if is_type || path[last..].starts_with('{') { &path[before..] } else { &path[last..] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lose_their_beginning() {
        let cases = [
            ("gcd", "gcd"),
            ("core::iter::traits::iterator::Iterator::sum", "Iterator::sum"),
            (
                "<core::slice::iter::Iter<T> as core::iter::traits::iterator::Iterator>::fold",
                "<Iter<T> as Iterator>::fold",
            ),
            ("core::iter::adapters::filter::filter_fold::{{closure}}", "filter_fold::{{closure}}"),
            (
                "std::vector<int, std::allocator<int> >::push_back(int)",
                "vector<int, allocator<int> >::push_back(int)",
            ),
            ("core::num::rem", "rem"),
            ("core::hint::black_box::<&dyn r::T>", "black_box::<&dyn T>"),
            ("alloc::vec::Vec::<core::option::Option<u8>>::push", "Vec::<Option<u8>>::push"),
            ("<r::m::G<u8> as r::m::Get>::get", "<G<u8> as Get>::get"),
        ];
        for (name, short) in cases {
            assert_eq!(brief(name), short);
        }
    }
}
