//! The agent: what `overstep trace` loads into the program with LD_PRELOAD. Inert unless the environment holds a
//! session. `docs/architecture.md` has its life cycle, `docs/signal-safety.md` what it may do when.

#![allow(
    unsafe_code,
    reason = "everything here stands in front of the C library or hands memory to the handler"
)]

mod allocator;
mod armed;
mod compiler_calls;
mod constructor;
mod environment;
mod interpose;
mod invitation;
mod real;
