//! Text from a foreign file, made safe for a terminal.

use std::borrow::Cow;

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
