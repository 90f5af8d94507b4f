//! The only code that runs in signal context. `docs/signal-safety.md` argues why it may.
//!
//! No allocation, lock, panic, thread-local storage, formatting or libc function: libc may be what is being
//! traced. Raw system calls, an own signal restorer, own memory copies.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod blocks;
mod code;
pub mod counter;
pub mod doors;
pub mod entry;
mod frames;
pub mod known;
mod nesting;
mod operands;
mod own_event;
mod patch;
mod pending;
pub(crate) mod perf;
mod proc_file;
pub mod process;
mod program_handler;
pub mod program_signals;
mod reconstruct;
mod restartable;
mod saved;
pub mod sigaction;
mod signal_frame;
mod slide;
mod stack;
mod stepper;
mod thread;
mod way;
pub mod wrapper;
