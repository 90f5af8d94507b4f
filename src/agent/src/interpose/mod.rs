//! Functions of the C library that this one stands in front of: each does what the real one does, and what a
//! tracer has to do beside it. In a process without a session they only pass on.

mod action;
mod errno;
mod exec;
mod jump;
mod library;
mod look_first;
mod mask;
mod seccomp;
mod shell;
mod spawn;
mod stack;
mod thread;
mod wait;
mod wait_with_mask;
mod xsi;
