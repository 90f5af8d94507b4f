//! The software PMU: a supervisor in a process of its own that runs an unmodified program, counts its instructions
//! by single-stepping it, and delivers overflows as the kernel would. The one place with ptrace.

mod attr;
mod call;
mod calls;
mod clock;
mod delivery;
mod descriptors;
mod disturbance;
mod error;
mod event;
mod family;
mod filter;
mod flags;
mod inject;
mod instance;
mod instruction;
mod launch;
mod memory;
mod model;
mod output;
mod ptrace;
mod random;
mod read_format;
mod record;
mod reports;
mod ring;
mod signal;
mod status;
mod stepping;
mod supervisor;
mod table;
mod taken;
mod thread;
mod wait;

pub use error::EmulateError;
pub use launch::{Program, Started, start};
pub use model::{AtLimit, Fusion, Iret, Model, Skid, TICK};
pub use random::Random;
