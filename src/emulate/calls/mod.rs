//! The system calls that may concern an emulated event, one group a file.

mod control;
mod descriptor;
mod entry;
mod open;
mod value;
