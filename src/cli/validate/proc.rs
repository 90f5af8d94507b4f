//! `/proc`: the kernel's version and settings, who traces this process, and what it runs under are read there.

use std::fs;

use crate::cli::exit::{Failure, USAGE};

/// Whether it is mounted. Without it, an event that hangs this kernel could not be told from one that does not.
///
/// # Errors
/// The system's reason, and what to do.
pub fn check() -> Result<(), Failure> {
    const NEEDED: &str = "/proc/sys/kernel/osrelease";
    let read = fs::read_to_string(NEEDED).and_then(|_| fs::read_to_string("/proc/thread-self/status"));
    read.map(drop).map_err(|error| {
        Failure::new(USAGE, format_args!("/proc is not mounted, or not all of it: {NEEDED}: {error}"))
            .next("mount -t proc proc /proc; what the kernel is and allows is read there")
    })
}
