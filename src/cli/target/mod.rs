//! The program to be traced, looked at before it is started: can it run, can it be traced, has it the function?

mod debug;
mod functions;
mod inlined;
mod libraries;
mod line_refusal;
mod lines;
mod privilege;
mod program;
mod refusal;

pub use debug::Source;
pub use functions::{TRIGGERS, look_up};
pub use inlined::refusal as inlined_everywhere;
pub use libraries::libraries;
pub use lines::{Line, functions_at};
pub use privilege::{Gain, gained_by};
pub use program::{Program, resolve};
pub use refusal::{file_name, loadable};
