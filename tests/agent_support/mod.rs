//! Where the tests find the agent.

use std::path::{Path, PathBuf};

/// The agent inside the executable that these tests go with, or the one that OVERSTEP_AGENT names; `None`, said on
/// the output, in a build without the `cli` feature, which has none.
pub fn agent(test: &str) -> Option<PathBuf> {
    let embedded = || Path::new(env!("OUT_DIR")).join("agent.so");
    let path = std::env::var_os("OVERSTEP_AGENT").map_or_else(embedded, PathBuf::from);
    if path.exists() {
        return Some(path);
    }
    println!("SKIP {test}: no agent at {}: built without the `cli` feature", path.display());
    None
}
