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
    let golden = String::from_utf8_lossy(&golden).into_owned();
    let mut listing = Vec::new();
    list(&mut listing).map_err(|error| Failure::new(exit::USAGE, error))?;
    let listing = String::from_utf8_lossy(&listing);
    if golden == listing {
        return Ok(Outcome::Status(exit::HOLDS));
    }
    let diff = TextDiff::from_lines(golden.as_str(), &listing);
    let shown = diff.unified_diff().header(&path.display().to_string(), "this trace").to_string();
    stdout::print(exit::USAGE, |out| out.write_all(shown.as_bytes()))?;
    Ok(Outcome::Status(exit::DOES_NOT_HOLD))
}
