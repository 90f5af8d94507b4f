//! Text from a foreign file, made safe for a terminal.

use std::borrow::Cow;

/// The same for a line of a source file, whose tabs become four spaces.
#[must_use]
pub fn tabs(line: &str) -> String {
    visible(&line.replace('\t', "    ")).into_owned()
}

/// `text` with control characters replaced: a symbol name or an argument may hold escape sequences.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    if text.chars().any(char::is_control) {
        Cow::Owned(
            text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect(),
        )
    } else {
        Cow::Borrowed(text)
    }
}
