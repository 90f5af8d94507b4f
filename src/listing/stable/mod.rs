//! Rows that read the same in every run: addresses by region, and without what the kernel, a clock or chance decides.

mod arguments;
mod flow;
mod inputs;
mod operand_kinds;
mod regions;
mod rewrite;
mod row;
mod stack_move;
mod taint;
#[cfg(test)]
mod tests;
mod volatile;

pub use rewrite::Rewrite;
pub use row::{MASKED, StableAccess, StableMarker, StableRow};
