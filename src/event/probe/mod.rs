//! Finds out what works here by doing it once, each attempt in a short-lived child that may die of it.

pub mod breakpoint;
pub mod calibrate;
pub mod counter;
pub mod failure;
pub mod limit;
pub mod registers;
pub mod trap_flag;
pub mod trigger;

mod catcher;
mod child;
mod report;
mod sled;
mod thread;

#[cfg(test)]
mod tests;
