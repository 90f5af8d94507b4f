//! `overstep validate`: whether this machine delivers overflow signals where it should.

mod arguments;
mod compare;
mod cpu;
mod interrupt;
mod output;
mod proc;
mod progress;
mod run;

pub use arguments::Arguments;
pub use run::run;
