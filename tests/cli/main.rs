//! The command line from outside: help, usage errors, refusals and exit statuses of the executable itself.

mod entries;
mod help;
mod lines;
mod listings;
mod privileges;
mod refusals;
mod support;
mod symbols;
mod system_programs;
mod terminal;
mod traces;
mod usage;
