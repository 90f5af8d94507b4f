//! The command line: one subcommand a file, each parse → run → exit status.

mod arguments;
mod check;
mod completions;
mod demo;
mod diff;
mod doctor;
mod entry;
mod exit;
mod golden;
mod inherited;
mod list;
mod man;
mod presentation;
mod selection;
mod stdout;
mod symbols;
mod target;
mod trace;

pub use entry::main;
