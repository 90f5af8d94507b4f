//! A trace as people and programs read it: rows once, then one file per output format.

mod by_call;
mod call_block;
mod cells;
mod changes;
mod code;
pub mod column;
mod compat_call;
#[cfg(test)]
mod contract;
pub mod csv;
#[cfg(feature = "dwarf")]
pub mod debug_names;
pub mod diff;
mod ending;
#[cfg(test)]
mod endings;
mod folded;
#[cfg(test)]
mod formats;
#[cfg(test)]
mod golden;
mod hex;
pub mod html;
pub mod json;
mod json_lines;
mod json_registers;
mod json_stable;
mod json_step;
mod kind;
mod layout;
mod leaving;
mod line;
pub mod loops;
pub mod markdown;
mod markdown_text;
mod markers;
mod module_files;
mod names;
mod native_names;
mod open_call;
mod operand_extent;
pub mod options;
pub mod palette;
mod place;
mod recorded_strings;
pub mod rows;
pub mod selection;
mod shown;
pub mod source;
mod source_heading;
pub mod stable;
mod step_line;
mod strings;
mod syscall_arity;
mod syscall_flags;
mod syscall_result;
mod syscall_signature;
mod syscall_text;
pub mod text;
pub mod text_frame;
pub mod unselected;
mod values;
mod visible;
