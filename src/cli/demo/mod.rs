//! `overstep demo`: a listing without a program to trace.

mod functions;
mod run;

pub use run::{Arguments, run};
