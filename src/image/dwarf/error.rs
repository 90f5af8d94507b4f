//! Why debug information that is there cannot be used.

/// What is wrong with a file's debug information.
#[derive(Debug, thiserror::Error)]
pub enum DebugError {
    #[error("its debug section {section} is damaged: {detail}; `readelf -wi` shows more")]
    Section { section: &'static str, detail: String },
    #[error(
        "its debug section {section} is compressed with method {method}, and only 1 (zlib) and 2 (zstd) are \
         known; `objcopy --decompress-debug-sections` makes a plain one"
    )]
    Compression { section: &'static str, method: u32 },
    #[error("its debug information is damaged: {0}; `readelf -wi` shows more")]
    Dwarf(#[from] gimli::Error),
}
