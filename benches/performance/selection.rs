//! Which lines were asked for on the command line.

/// Words to look for in a line's name; without any, every line runs.
pub struct Selection {
    words: Vec<String>,
}

impl Selection {
    /// `arguments` as cargo passes them on: its own flags (`--bench`) are not names.
    pub fn new(arguments: &[String]) -> Self {
        let words = arguments.iter().filter(|word| !word.starts_with('-')).cloned().collect();
        Self { words }
    }

    pub fn wants(&self, name: &str) -> bool {
        self.words.is_empty() || self.words.iter().any(|word| name.contains(word.as_str()))
    }
}
