//! Was what came what had to come? Verdicts counted, and a whole trace proved again from its file alone.

pub mod call_stack;
pub mod expectation;
pub mod finding;
pub mod path;
pub mod recorded_memory;
pub mod report;
pub mod summary;
mod thread_check;
pub mod vendor;
pub mod verify;

#[cfg(test)]
pub mod synthetic;
#[cfg(test)]
mod tests;
