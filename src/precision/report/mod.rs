//! The report as one value, and one file per form it is shown in.

pub mod model;
pub mod sentences;
pub mod table;

pub use model::{Report, Row};
