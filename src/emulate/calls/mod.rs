//! The system calls that may concern an emulated event, one group a file.

mod control;
mod descriptor;
mod entry;
mod length;
mod map;
mod mapping;
mod open;
mod passing;
mod unsupported;
mod value;
mod wait;

pub use wait::Waited;
