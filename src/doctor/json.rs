//! The facts as JSON, for a bug report or a script.

use std::io::{self, Write};

use super::Facts;

/// Writes one indented JSON object and a newline.
///
/// # Errors
/// Whatever `out` answers.
pub fn write(facts: &Facts, out: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, facts)?;
    writeln!(out)
}
