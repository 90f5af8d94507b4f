//! A listing against the one that is kept.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use similar::TextDiff;

use super::exit::{self, Failure, Outcome};
use super::stdout;

/// Compares what `list` writes with the file at `path`: 0 where they are the same, 1 after a unified diff where not.
///
/// # Errors
/// 2: the file cannot be read, or the listing not written.
pub fn check<T>(path: &Path, list: impl FnOnce(&mut Vec<u8>) -> io::Result<T>) -> Result<Outcome, Failure> {
    let golden = fs::read(path).map_err(|error| {
        let reason = error.to_string();
        let reason = reason.split(" (os error").next().unwrap_or_default();
        Failure::new(exit::USAGE, format_args!("cannot read `{}`: {reason}", path.display()))
            .next(format_args!("make it: overstep list FILE.ostrace --stable > {}", path.display()))
    })?;
    let mut listing = Vec::new();
    list(&mut listing).map_err(|error| Failure::new(exit::USAGE, error))?;
    if golden == listing {
        return Ok(Outcome::Status(exit::HOLDS));
    }
    let name = path.display().to_string();
    let difference = difference(&name, &golden, &listing);
    stdout::print(exit::USAGE, |out| out.write_all(difference.as_bytes()))?;
    Ok(Outcome::Status(exit::DOES_NOT_HOLD))
}

/// What sets the kept listing apart from the one now, readable on a terminal.
fn difference(name: &str, golden: &[u8], listing: &[u8]) -> String {
    let mut text = String::new();
    let mut golden = String::from_utf8_lossy(golden).into_owned();
    let listing = String::from_utf8_lossy(listing);
    if golden.contains("\r\n") && !listing.contains("\r\n") {
        golden = golden.replace("\r\n", "\n");
        let otherwise = if golden == listing { "; it holds otherwise" } else { "" };
        text = format!(
            "`{name}` has lines that end in CR LF, and listings have LF{otherwise}\n  \
             write it anew, and keep git from changing it: in .gitattributes, a line `{name} text eol=lf`\n"
        );
    }
    let diff = TextDiff::from_lines(golden.as_str(), &listing);
    text.push_str(&escaped(&diff.unified_diff().header(name, "this trace").to_string()));
    text
}

/// Control characters as Rust writes them: they are what differs, or would do something to the terminal.
fn escaped(diff: &str) -> String {
    let shown = |c: char| {
        let control = c.is_control() && !matches!(c, '\n' | '\t');
        if control { c.escape_default().to_string() } else { c.to_string() }
    };
    diff.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_of_another_system_are_named() {
        let text = difference("g.md", b"a\r\nb\r\n", b"a\nb\n");
        assert!(
            text.starts_with(
                "`g.md` has lines that end in CR LF, and listings have LF; it holds otherwise\n"
            ),
            "{text}"
        );
        assert!(!text.contains("@@"), "{text}");
        let text = difference("g.md", b"a\r\nb\r\n", b"a\nc\n");
        assert!(text.contains("CR LF, and listings have LF\n") && text.ends_with("-b\n+c\n"), "{text}");
        assert!(!text.contains("otherwise"), "{text}");
    }

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        let text = difference("g.txt", b"\x1b[1mcall\x1b[0m\n", b"call\n");
        assert!(text.ends_with("-\\u{1b}[1mcall\\u{1b}[0m\n+call\n"), "{text}");
    }
}
