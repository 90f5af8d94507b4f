//! What this machine can do, and the remedy where it cannot.

pub mod cpu;
pub mod facts;
pub mod json;
pub mod kernel;
pub mod mechanisms;
pub mod permissions;
pub mod pmu;
pub mod signals;
pub mod text;

mod counter;
mod findings;

pub use facts::Facts;
