//! The source lines that rows come from.

mod brief;
mod files;
#[cfg(feature = "dwarf")]
mod load;
mod location;
mod shorten;
mod sources;

pub use files::Remap;
pub use location::{Frame, Location};
pub use sources::Sources;
