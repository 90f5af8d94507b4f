//! The source lines that rows come from.

#[cfg(feature = "dwarf")]
mod brief;
mod files;
#[cfg(feature = "dwarf")]
mod load;
mod location;
#[cfg(feature = "dwarf")]
mod shorten;
mod sources;

pub use files::Remap;
pub use location::{Frame, Location};
pub use sources::Sources;
