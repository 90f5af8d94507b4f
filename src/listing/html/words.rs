//! Values that are no numbers, each once.

use std::collections::HashMap;
use std::fmt::Write as _;

/// Stands before the index of a value in the table of words.
const WORD: char = '$';

/// Values in words, such as `stack-0x8`, and the index of each.
#[derive(Debug, Default)]
pub struct Words {
    all: Vec<String>,
    index: HashMap<String, usize>,
}

impl Words {
    /// Appends `value`: the digits of a number, or its place in the table.
    pub fn push(&mut self, line: &mut String, value: &str) {
        let digits =
            value.strip_prefix("0x").filter(|digits| digits.bytes().all(|it| it.is_ascii_hexdigit()));
        if let Some(digits) = digits {
            return line.push_str(digits);
        }
        let index = self.index.get(value).copied().unwrap_or_else(|| {
            self.all.push(value.to_owned());
            self.index.insert(value.to_owned(), self.all.len() - 1);
            self.all.len() - 1
        });
        let _ = write!(line, "{WORD}{index}");
    }

    /// The table.
    #[must_use]
    pub fn all(&self) -> &[String] {
        &self.all
    }
}
