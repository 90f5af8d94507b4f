//! Standard error: what a user would otherwise have to guess.

use std::io::{self, Write};

/// Writes a line. A closed standard error changes nothing about the answer.
pub fn say(notice: &str) {
    let _ = writeln!(io::stderr(), "overstep: {notice}");
}
