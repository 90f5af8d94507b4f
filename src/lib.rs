//! A single-step tracer that lives inside the traced process: see `docs/architecture.md`.

pub mod address;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
pub mod doctor;
pub mod event;
pub mod image;
pub mod raw;
pub mod record;
pub mod registers;
