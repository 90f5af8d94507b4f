//! The command line: one subcommand a file, each parse → run → exit status.

mod arguments;
mod check;
mod completions;
mod demo;
mod diff;
mod doctor;
mod emulate;
mod entry;
mod exit;
mod golden;
mod inherited;
mod list;
mod man;
mod presentation;
mod selection;
mod stderr;
mod stdout;
mod symbols;
mod target;
mod trace;
mod validate;

pub use entry::main;
