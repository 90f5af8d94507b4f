//! The agent: what `overstep trace` loads into the program with LD_PRELOAD. Inert unless the environment holds a
//! session. `docs/architecture.md` has its life cycle, `docs/signal-safety.md` what it may do when.

mod allocator;
mod armed;
mod compiler_calls;
mod constructor;
mod environment;
mod interpose;
mod invitation;
mod real;
