//! Paths into the crate, as Rust source names them.

/// One path that starts at a crate's root.
#[derive(Debug)]
pub struct Arrow {
    pub line: usize,
    /// At most two segments behind the root: `record::step`. Behind `overstep` in the agent, `overstep` is left out.
    pub path: String,
    library: bool,
}

impl Arrow {
    /// Whether the path began with `overstep::`, not `crate::`.
    pub fn is_of_library(&self) -> bool {
        self.library
    }
}

/// Every `crate::…` and `overstep::…` in `text`, groups taken apart.
pub fn arrows(text: &str) -> Vec<Arrow> {
    let code = code_only(text);
    let mut found = Vec::new();
    for (root, library) in [("crate::", false), ("overstep::", true)] {
        for (place, _) in code.match_indices(root) {
            let before = code[..place].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            let line = code[..place].matches('\n').count() + 1;
            let rest = &code[place + root.len()..];
            found.extend(two_segments(rest).into_iter().map(|path| Arrow { line, path, library }));
        }
    }
    found
}

/// The paths that `rest` starts with, cut after two segments.
fn two_segments(rest: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for tree in group(rest) {
        let first = identifier(tree);
        match tree[first.len()..].trim_start().strip_prefix("::") {
            None => paths.push(first.to_owned()),
            Some(rest) => {
                let seconds = group(rest).into_iter().map(identifier);
                paths.extend(seconds.map(|second| match second {
                    "" | "self" => first.to_owned(),
                    second => format!("{first}::{second}"),
                }));
            }
        }
    }
    paths
}

/// The members of a `{…}` that `text` starts with; `text` itself where it starts with none.
fn group(text: &str) -> Vec<&str> {
    let text = text.trim_start();
    let Some(inside) = text.strip_prefix('{') else { return vec![text] };
    let (mut depth, mut start) = (0, 0);
    let mut members = Vec::new();
    for (place, c) in inside.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                members.push(inside[start..place].trim());
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                members.push(inside[start..place].trim());
                start = place + 1;
            }
            _ => {}
        }
    }
    members.retain(|member| !member.is_empty());
    members
}

fn identifier(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

/// `text` with comments and the insides of string literals blanked, line breaks kept.
pub fn code_only(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment(rest)
        } else if let Some(hashes) = raw_string(rest) {
            let end = format!("\"{}", "#".repeat(hashes));
            let open = hashes + 2;
            rest[open..].find(&end).map_or(rest.len(), |found| open + found + end.len())
        } else if c == '"' {
            string(rest)
        } else if rest.starts_with("'\"'") {
            3
        } else if let Some(escaped) = rest.strip_prefix("'\\") {
            let mut behind = escaped.char_indices().skip(1);
            2 + behind.find(|(_, c)| *c == '\'').map_or(escaped.len(), |(quote, _)| quote + 1)
        } else {
            0
        };
        if skipped == 0 {
            code.push(c);
            rest = &rest[c.len_utf8()..];
        } else {
            code.extend(rest[..skipped].chars().map(|c| if c == '\n' { c } else { ' ' }));
            rest = &rest[skipped..];
        }
    }
    code
}

/// The length of the (nested) block comment that `text` starts with.
fn block_comment(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        let here = &text.as_bytes()[at..];
        if here.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

/// The number of hashes where `text` starts with a raw string.
fn raw_string(text: &str) -> Option<usize> {
    let rest = text.strip_prefix('r')?;
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    rest[hashes..].starts_with('"').then_some(hashes)
}

/// The length of the string literal that `text` starts with.
fn string(text: &str) -> usize {
    let mut escaped = false;
    for (place, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return place + 1,
            _ => {}
        }
    }
    text.len()
}
