//! What is wrong with a file that should be a program.

use std::path::PathBuf;

/// Why a file cannot be used as an ELF image. Each names the place and what stands there.
#[derive(Debug, thiserror::Error)]
pub enum ElfError {
    #[error("cannot open {}: {source}", path.display())]
    Open { path: PathBuf, source: std::io::Error },
    #[error("not an ELF file: it starts with {start:02x?}, not 7f 45 4c 46")]
    NotElf { start: Vec<u8> },
    #[error("a big-endian ELF file; overstep traces x86_64 only")]
    BigEndian,
    #[error("damaged ELF file: {what} at offset {offset:#x} needs {needs} bytes, the file has {has}")]
    Truncated { what: &'static str, offset: u64, needs: u64, has: u64 },
    #[error("damaged ELF file: {what} ({detail}); `readelf -hl` shows more")]
    Damaged { what: &'static str, detail: String },
}
