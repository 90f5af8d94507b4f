//! The file header, checked.

use super::ReadError;
use super::input::Input;
use crate::record::crc::crc32;
use crate::record::header::{FIXED, TraceHeader};
use crate::record::layout::{FILE_MAGIC, MAJOR, OLDEST_MAJOR};

/// The header and its size in bytes, where the chunks begin.
pub(super) fn parse(bytes: &[u8]) -> Result<(TraceHeader, usize), ReadError> {
    if bytes.is_empty() {
        return Err(ReadError::Empty);
    }
    let start = &bytes[..bytes.len().min(FILE_MAGIC.len())];
    if !FILE_MAGIC.starts_with(start) {
        return Err(ReadError::Foreign { found: start.to_vec() });
    }
    let length = bytes.len() as u64;
    let cut = |needed: usize| ReadError::Truncated { length, needed: needed as u64 };
    let fixed = fixed(bytes).ok_or_else(|| cut(FIXED))?;
    // Before the checksum: another major version may keep it elsewhere.
    if fixed.major > MAJOR {
        return Err(ReadError::Newer { major: fixed.major, minor: fixed.minor, known_major: MAJOR });
    }
    if fixed.major < OLDEST_MAJOR {
        return Err(ReadError::Header {
            offset: 8,
            cause: format!("there is no format version {}", fixed.major),
        });
    }
    let needed = FIXED.saturating_add(fixed.json);
    if needed > fixed.size {
        let cause = format!("{} bytes of JSON do not fit a header of {}", fixed.json, fixed.size);
        return Err(ReadError::Header { offset: 12, cause });
    }
    let json = bytes.get(FIXED..needed).ok_or_else(|| cut(needed))?;
    let expected = crc32(&[&bytes[..FIXED - 4], json]);
    if fixed.checksum != expected {
        return Err(ReadError::HeaderChecksum { found: fixed.checksum, expected });
    }
    let header = serde_json::from_slice(json)
        .map_err(|error| ReadError::Header { offset: FIXED as u64, cause: error.to_string() })?;
    Ok((header, fixed.size))
}

struct Fixed {
    major: u16,
    minor: u16,
    size: usize,
    json: usize,
    checksum: u32,
}

fn fixed(bytes: &[u8]) -> Option<Fixed> {
    let mut input = Input::new(bytes.get(FILE_MAGIC.len()..)?);
    Some(Fixed {
        major: input.u16()?,
        minor: input.u16()?,
        size: input.u32()? as usize,
        json: input.u32()? as usize,
        checksum: input.u32()?,
    })
}
