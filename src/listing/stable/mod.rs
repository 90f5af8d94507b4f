//! Rows that read the same in every run: addresses by region, and without what the kernel, a clock or chance decides.

mod arguments;
mod flow;
mod regions;
mod rewrite;
mod row;
mod taint;
#[cfg(test)]
mod tests;

pub use rewrite::Rewrite;
pub use row::{StableAccess, StableMarker, StableRow};

/// Stands for a value that another run would not repeat.
pub const MASKED: &str = "?";
