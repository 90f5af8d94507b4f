//! The `overstep` executable: [`overstep::cli`] under a `main` that the kernel, not std, has prepared.

#![no_main]
#![allow(unsafe_code, reason = "the C library's start-up calls `main` by its plain name")]

/// Without std's start-up, which opens `/dev/null` over closed descriptors and ignores SIGPIPE: a traced program
/// has to find both as the user left them, see `cli::inherited`.
#[unsafe(no_mangle)]
pub extern "C" fn main() -> i32 {
    overstep::cli::main()
}
