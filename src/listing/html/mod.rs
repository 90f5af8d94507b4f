//! The trace as a page to step through: one file, no network.
//!
//! Rows are written as they are read, one short line each, and the page makes rows of them when they come into view; what
//! they refer to (instructions, source lines) stands once, behind them.

#[cfg(test)]
mod browser;
mod page;
mod row_lines;
mod stable_state;
mod tables;
#[cfg(test)]
mod tests;
mod words;

pub use page::write;
