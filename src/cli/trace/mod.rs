//! `overstep trace`: from the options to the program's exit status.

mod aftermath;
mod arguments;
mod choose;
mod embedded;
mod file;
mod launch;
mod notices;
mod progress;
mod run;
mod session;
mod show;
mod supervise;

pub use arguments::Arguments;
pub use run::run;
