//! Loops of an execution, and which of their iterations a reader can do without.

mod finder;
mod folds;
mod open_loop;
#[cfg(test)]
mod tests;
mod token;

pub use folds::{Fold, Folds};
