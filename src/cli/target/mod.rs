//! The program to be traced, looked at before it is started: can it run, can it be traced, has it the function?

mod functions;
mod libraries;
mod privilege;
mod program;
mod refusal;

pub use functions::look_up;
pub use libraries::libraries;
pub use program::{Program, resolve};
pub use refusal::{file_name, loadable};
