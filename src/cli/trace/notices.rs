//! Lines on standard error beside the program's own: each says what a user would otherwise have to guess.

use std::io::{self, Write};

use crate::cli::presentation::Color;

/// Collected before the program starts, so that none is written while it runs.
#[derive(Debug)]
pub struct Notices {
    quiet: bool,
    faint: bool,
    lines: Vec<String>,
}

impl Notices {
    pub fn new(quiet: bool, color: Color) -> Self {
        Self { quiet, faint: color.on_stderr(), lines: Vec::new() }
    }

    pub fn push(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }

    pub fn extend(&mut self, lines: impl IntoIterator<Item = String>) {
        self.lines.extend(lines);
    }

    /// Writes what was collected, and forgets it. A closed standard error is no reason to stop.
    pub fn print(&mut self) {
        let lines = std::mem::take(&mut self.lines);
        if self.quiet || lines.is_empty() {
            return;
        }
        let (start, end) = if self.faint { ("\x1b[2m", "\x1b[0m") } else { ("", "") };
        let text: String = lines.iter().map(|line| format!("{start}overstep: {line}{end}\n")).collect();
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }
}
