//! The report as one value, and one file per form it is shown in.

pub mod compare;
pub mod html;
pub mod json;
pub mod machine;
pub mod markdown;
pub mod model;
pub mod sentences;
pub mod table;
pub mod text;

pub use model::{Report, Row};
