//! Finds out what works here by doing it once, each attempt in a short-lived child that may die of it.

pub mod breakpoint;
pub mod calibrate;
pub mod counter;
pub mod failure;
pub mod limit;
pub mod reckon;
pub mod registers;
pub mod trap_flag;
pub mod trigger;

pub(crate) mod action;
pub(crate) mod catcher;
pub(crate) mod child;
mod report;
mod sled;
pub(crate) mod thread;

#[cfg(test)]
mod tests;
