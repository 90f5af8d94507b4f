//! Who may import whom. docs/architecture.md says why.

use std::path::Path;

use crate::source::Arrow;

/// A layer and what it may import: whole folders, or `folder::module` where only a part is meant.
const TABLE: [(&str, &[&str]); 17] = [
    ("address", &[]),
    ("raw", &[]),
    ("registers", &["address"]),
    ("record", BASE),
    ("image", BASE),
    ("event", &["address", "raw", "registers", "record::calibration", "record::control", "record::counted"]),
    // The raw halves of `event`, so that what `event` probed is what runs; of `image` what runs per stop.
    (
        "handler",
        &[
            "address",
            "raw",
            "registers",
            "record",
            "event::attr",
            "event::fasync",
            "event::ioctl",
            "event::open",
            "event::rearm",
            "event::siginfo",
            "event::tail",
            "image::boundary",
            "image::class",
            "image::decode",
            "image::memory",
            "image::module",
            "image::operands",
            "image::restartable",
            "image::static_successor",
            "image::successor",
        ],
    ),
    ("check", &["address", "raw", "registers", "record", "image"]),
    ("listing", &["address", "raw", "registers", "record", "image", "check"]),
    // `check` and `listing` for what the library hands back.
    ("session", &["address", "raw", "registers", "event", "handler", "record", "image", "check", "listing"]),
    ("doctor", &["address", "raw", "registers", "record", "event"]),
    // A process of its own: it shares nothing with the tracer but what an address is.
    ("emulate", &["address"]),
    // `doctor` for what it knows of the machine.
    ("precision", &["address", "raw", "registers", "event", "record", "image", "doctor"]),
    (
        "cli",
        &[
            "address",
            "raw",
            "registers",
            "event",
            "record",
            "image",
            "check",
            "listing",
            "session",
            "doctor",
            "emulate",
            "precision",
            ROOT,
        ],
    ),
    ("agent", &["address", "raw", "registers", "event", "handler", "record", "image", "session"]),
    // lib.rs: what it re-exports and the one function it has.
    ("lib", &["event", "session"]),
    ("main", &["cli"]),
];

const BASE: &[&str] = &["address", "raw", "registers"];
/// Items at the crate's root, which is the library's front.
const ROOT: &str = "(root)";

/// The layer a file below `src/` belongs to: its first folder, or its own name at the top.
pub fn layer(file: &Path) -> String {
    let first = file.iter().next().unwrap_or_default().to_string_lossy();
    first.trim_end_matches(".rs").to_owned()
}

/// Whether code in `from` may name the path.
pub fn allows(from: &str, arrow: &Arrow) -> bool {
    let Some((_, allowed)) = TABLE.iter().find(|(name, _)| *name == from) else { return false };
    let mut parts = arrow.path.split("::");
    let (first, second) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    // `crate::` inside the agent is the agent.
    if first == from || from == "agent" && !arrow.is_of_library() {
        return true;
    }
    let folder = if TABLE.iter().any(|(name, _)| *name == first) { first } else { ROOT };
    allowed.iter().any(|entry| match entry.split_once("::") {
        None => *entry == folder,
        Some((wanted, module)) => wanted == folder && module == second,
    })
}
