//! `overstep emulate`: run any program under a software PMU.

mod arguments;
mod refusal;
mod run;
mod signals;

pub use arguments::Arguments;
pub use run::run;
