//! A trace as people and programs read it: rows once, then one file per output format.

mod by_call;
mod call_block;
mod changes;
mod code;
mod columns;
#[cfg(test)]
mod contract;
mod ending;
#[cfg(test)]
mod endings;
#[cfg(test)]
mod golden;
mod hex;
pub mod json;
mod json_lines;
mod json_registers;
mod json_step;
mod line;
mod markers;
mod names;
mod open_call;
pub mod options;
pub mod palette;
mod place;
pub mod rows;
mod step_line;
mod syscall_arity;
mod syscall_result;
pub mod text;
pub mod text_frame;
mod visible;
