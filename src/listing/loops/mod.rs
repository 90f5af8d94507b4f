//! Loops of an execution, and which of their iterations a reader can do without.

mod alike;
mod execution;
mod fold;
mod folds;
mod nesting;
mod open_loop;
mod stretch;
#[cfg(test)]
mod tests;
mod walk;

pub use fold::Fold;
pub use folds::Folds;
