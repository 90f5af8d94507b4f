//! The only code that runs in signal context. `docs/signal-safety.md` argues why it may.
//!
//! No allocation, lock, panic, thread-local storage, formatting or libc function: libc may be what is being
//! traced. Raw system calls, an own signal restorer, own memory copies.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

pub mod alternate_stack;
mod blocks;
mod calls;
mod code;
pub mod counter;
pub mod crossing;
mod deliver;
mod descriptors;
pub mod dispatch;
mod displaced;
pub mod doors;
mod dropped;
pub mod entry;
mod frames;
pub mod held;
pub mod known;
mod narrow;
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
mod site;
mod slide;
mod stack;
mod stepper;
mod system_call;
mod thread;
mod unfollowed;
mod way;
pub mod wrapper;
