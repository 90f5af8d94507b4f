//! `overstep validate`: whether this machine delivers overflow signals where it should.

mod arguments;
mod interrupt;
mod run;

pub use arguments::Arguments;
pub use run::run;
