//! `overstep trace`: from the options to the program's exit status.

mod arguments;
mod choose;
mod embedded;
mod file;
mod launch;
mod notices;
mod progress;
mod run;
mod supervise;

pub use arguments::Arguments;
pub use run::run;
