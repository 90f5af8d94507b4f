//! Shell patterns over whole names: `*`, `?`, `[a-z]`, `[!a-z]`. A pattern also matches itself literally, so that
//! `operator[]` and `f(int*)` need no quoting.

/// Whether `pattern` covers all of `text`.
#[must_use]
pub fn glob(pattern: &str, text: &str) -> bool {
    if pattern == text {
        return true;
    }
    if !pattern.contains(['*', '?', '[']) {
        return false;
    }
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    // Where the last star stands, and how far it has swallowed the text.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        if pattern.get(p) == Some(&'*') {
            star = Some((p, t));
            p += 1;
        } else if let Some(next) = one(&pattern, p, text[t]) {
            (p, t) = (next, t + 1);
        } else if let Some((at, swallowed)) = star {
            (p, t) = (at + 1, swallowed + 1);
            star = Some((at, swallowed + 1));
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

/// Whether every `[` has its `]`.
pub(super) fn is_closed(pattern: &str) -> bool {
    pattern.rfind('[').is_none_or(|open| pattern[open..].contains(']'))
}

/// Matches one character at pattern position `p`: the position after it.
fn one(pattern: &[char], p: usize, character: char) -> Option<usize> {
    match *pattern.get(p)? {
        '?' => Some(p + 1),
        '[' => {
            // A `]` that comes first belongs to the set.
            let negated = matches!(pattern.get(p + 1), Some('!' | '^'));
            let first = p + 1 + usize::from(negated);
            let length = pattern.get(first + 1..)?.iter().position(|c| *c == ']')? + 1;
            let inside = in_set(&pattern[first..first + length], character);
            (inside != negated).then_some(first + length + 1)
        }
        literal => (literal == character).then_some(p + 1),
    }
}

fn in_set(set: &[char], character: char) -> bool {
    let mut rest = set;
    while let Some((&low, after)) = rest.split_first() {
        rest = match after {
            ['-', high, behind @ ..] => {
                if (low..=*high).contains(&character) {
                    return true;
                }
                behind
            }
            _ if low == character => return true,
            _ => after,
        };
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_cover_whole_names() {
        for (pattern, text) in [
            ("gcd", "gcd"),
            ("g*", "gcd"),
            ("*", ""),
            ("*parse_works*", "a::parse_works::b"),
            ("g?d", "gcd"),
            ("[f-h]cd", "gcd"),
            ("[!a]cd", "gcd"),
            ("a*b*c", "aXbYbZc"),
            ("operator[]", "operator[]"),
            ("*[]]", "operator[]"),
        ] {
            assert!(glob(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in
            [("gcd", "gcd2"), ("g?", "gcd"), ("[a-c]cd", "gcd"), ("*b", "abc"), ("[!g]cd", "gcd"), ("", "a")]
        {
            assert!(!glob(pattern, text), "{pattern} {text}");
        }
        assert!(!is_closed("a[b") && is_closed("a[b]") && is_closed("ab"));
    }
}
