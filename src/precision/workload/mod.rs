//! Code whose every instruction is known: what the measured events count and break on.

pub mod class;
pub mod long;
pub mod path;
pub mod program;

pub use class::Class;
pub use path::Path;
pub use program::{Touches, Workload};
