//! Text from a foreign file, made safe for a terminal.

use std::borrow::Cow;

/// The same for a line of a source file, whose tabs become four spaces.
#[must_use]
pub fn tabs(line: &str) -> String {
    visible(&line.replace('\t', "    ")).into_owned()
}

/// Whether the character changes the direction of what follows, so that a line reads as another one than it is
/// (Unicode Standard Annex 9, section 2; CVE-2021-42574).
#[must_use]
pub const fn is_direction(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// `text` with control characters replaced: a symbol name or an argument may hold escape sequences.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    let hidden = |c: char| c.is_control() || is_direction(c);
    if text.chars().any(hidden) {
        Cow::Owned(text.chars().map(|c| if hidden(c) { char::REPLACEMENT_CHARACTER } else { c }).collect())
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_other_text_is_replaced() {
        assert_eq!(visible("int a;"), "int a;");
        assert_eq!(visible("\u{1b}[31m"), "\u{fffd}[31m");
        assert_eq!(tabs("\t/* \u{202e}\u{2066}begin */"), "    /* \u{fffd}\u{fffd}begin */");
    }
}
