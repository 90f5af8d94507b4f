//! The JSON form, written and read: `docs/validate.schema.json` describes it.

use std::io::{self, Write};

use serde::Deserialize;

use super::model::{Report, VERSION};

/// Why a text is no report.
#[derive(Debug, thiserror::Error)]
pub enum NoReport {
    #[error(
        "it has layout version {found}, and this overstep reads up to {VERSION}; use the overstep that wrote it, or a newer one"
    )]
    Newer { found: u64 },
    #[error(
        "it has layout version {found}, which no overstep wrote; write it anew with: overstep validate --json FILE"
    )]
    Unknown { found: u64 },
    #[error("it is no report of `overstep validate --json`: {0}; name files that it wrote")]
    Malformed(#[from] serde_json::Error),
}

/// Writes one indented JSON object and a newline.
///
/// # Errors
/// Whatever `out` answers.
pub fn write(report: &Report, out: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, report)?;
    writeln!(out)
}

/// Reads what [`write`] wrote.
///
/// # Errors
/// [`NoReport`].
pub fn read(text: &str) -> Result<Report, NoReport> {
    #[derive(Deserialize)]
    struct Front {
        version: u64,
    }
    let Front { version } = serde_json::from_str(text)?;
    if version > VERSION.into() {
        return Err(NoReport::Newer { found: version });
    }
    if version == 0 {
        return Err(NoReport::Unknown { found: version });
    }
    Ok(serde_json::from_str(text)?)
}
