//! A single-step tracer that lives inside the traced process: see `docs/architecture.md`.

pub mod address;
pub mod check;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
pub mod doctor;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod emulate;
pub mod event;
pub mod handler;
pub mod image;
pub mod listing;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod precision;
pub mod raw;
pub mod record;
pub mod registers;
pub mod session;

pub use session::recorded::Recorded;
pub use session::tracer::{TraceError, Tracer};

/// Whether breakpoint events work for this process, as [`Tracer`] needs them: `false` on a machine or in a
/// container that refuses perf events.
#[must_use]
pub fn can_trace() -> bool {
    event::choose::choose(None, None).is_ok()
}

/// The README's example is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
