//! Rows that read the same in every run: addresses by region, and without what the kernel, a clock or chance decides.

mod arguments;
mod arithmetic;
mod doubt;
mod effects;
mod flow;
mod known;
#[cfg(test)]
mod leaks;
mod native;
mod operand_kinds;
mod outside;
mod regions;
mod rewrite;
mod row;
mod scalar;
mod scanned;
mod shadow;
mod stack_move;
mod tag;
mod taint;
#[cfg(test)]
mod tests;
mod touched;
#[cfg(test)]
mod unseen;
mod vectors;

pub use rewrite::Rewrite;
pub use row::{MASKED, StableAccess, StableMarker, StableRow};
