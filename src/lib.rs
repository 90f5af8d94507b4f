//! A single-step tracer that lives inside the traced process: see `docs/architecture.md`.

pub mod address;
pub mod check;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
pub mod doctor;
pub mod event;
pub mod handler;
pub mod image;
pub mod listing;
pub mod raw;
pub mod record;
pub mod registers;
pub mod session;
