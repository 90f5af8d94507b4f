//! Debug sections that the linker compressed (`-gz`, `--compress-debug-sections`).

use super::error::DebugError;
use std::io::Read;

/// `Elf64_Chdr` (elf(5), gABI "Section Compression"): type, reserved, size, alignment.
const HEADER: usize = 24;
/// `ELFCOMPRESS_ZLIB` and `ELFCOMPRESS_ZSTD`.
const ZLIB: u32 = 1;
const ZSTD: u32 = 2;
/// More than any debug section has, and less than what exhausts a machine because of a damaged size.
const LIMIT: u64 = 4 << 30;

/// What an SHF_COMPRESSED section of these bytes holds; `section` is for the error.
pub(super) fn decompress(section: &'static str, bytes: &[u8]) -> Result<Vec<u8>, DebugError> {
    let damaged = |detail: String| DebugError::Section { section, detail };
    let Some((header, packed)) = bytes.split_at_checked(HEADER) else {
        return Err(damaged(format!("{} bytes are too few for a compression header", bytes.len())));
    };
    let method = u32::from_le_bytes([header[0], header[1], header[2], header[3]]);
    let size = header[8..16].iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
    if size > LIMIT {
        return Err(damaged(format!("a size of {size} bytes when decompressed")));
    }
    let plain = match method {
        ZLIB => miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(packed, size as usize)
            .map_err(|error| damaged(format!("zlib: {error}")))?,
        ZSTD => zstd(packed, size).map_err(|error| damaged(format!("zstd: {error}")))?,
        _ => return Err(DebugError::Compression { section, method }),
    };
    if plain.len() as u64 != size {
        return Err(damaged(format!("{} bytes when decompressed, not {size}", plain.len())));
    }
    Ok(plain)
}

/// What a section of these bytes holds that is named `.zdebug_…`: `ZLIB`, its size as a big-endian number, zlib (binutils'
/// `--compress-debug-sections=zlib-gnu`).
pub(super) fn decompress_gnu(section: &'static str, bytes: &[u8]) -> Result<Vec<u8>, DebugError> {
    let damaged = |detail: String| DebugError::Section { section, detail };
    let packed = bytes.strip_prefix(b"ZLIB").and_then(|rest| rest.split_first_chunk::<8>());
    let Some((size, packed)) = packed else {
        return Err(damaged("`ZLIB` and a size do not stand at its beginning".to_owned()));
    };
    let size = u64::from_be_bytes(*size);
    if size > LIMIT {
        return Err(damaged(format!("a size of {size} bytes when decompressed")));
    }
    let plain = miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(packed, size as usize)
        .map_err(|error| damaged(format!("zlib: {error}")))?;
    if plain.len() as u64 != size {
        return Err(damaged(format!("{} bytes when decompressed, not {size}", plain.len())));
    }
    Ok(plain)
}

fn zstd(packed: &[u8], size: u64) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let mut plain = Vec::new();
    // One byte more than is due shows that there are too many.
    ruzstd::decoding::StreamingDecoder::new(packed)?.take(size + 1).read_to_end(&mut plain)?;
    Ok(plain)
}
