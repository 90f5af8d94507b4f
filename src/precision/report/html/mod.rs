//! The report as one page that needs nothing else.

mod histogram;
mod matrix;
mod page;

pub use page::page;
