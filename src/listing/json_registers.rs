//! Registers and flags as JSON objects.

use serde::{Serialize, Serializer};

/// Register names and values, in that order in the object.
pub(super) struct RegisterMap(pub(super) Vec<(&'static str, String)>);

impl Serialize for RegisterMap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// Flags by name, and whether they are set.
pub(super) struct FlagMap(pub(super) Vec<(&'static str, bool)>);

impl Serialize for FlagMap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}
