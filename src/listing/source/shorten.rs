//! Source paths as short as they can be told apart.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// For each path its file name, with as many folders before it as tell it from the others.
#[must_use]
pub fn shortened(paths: &BTreeSet<PathBuf>) -> BTreeMap<PathBuf, String> {
    paths.iter().map(|path| (path.clone(), shortest(path, paths))).collect()
}

fn shortest(path: &Path, all: &BTreeSet<PathBuf>) -> String {
    let parts: Vec<_> = path.components().collect();
    for kept in 1..=parts.len() {
        let end: PathBuf = parts[parts.len() - kept..].iter().collect();
        if all.iter().filter(|other| other.ends_with(&end)).count() <= 1 {
            return end.to_string_lossy().into_owned();
        }
    }
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_folders_as_needed() {
        let paths = ["/a/src/lib.rs", "/b/src/lib.rs", "/a/src/main.rs"].map(PathBuf::from).into();
        let short: Vec<_> = shortened(&paths).into_values().collect();
        assert_eq!(short, ["a/src/lib.rs", "main.rs", "b/src/lib.rs"]);
    }
}
