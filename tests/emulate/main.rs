//! `overstep emulate`: programs of our own for each way an event is used, with what exactly they have to print.

mod buffer;
mod delivery;
mod model;
mod natively;
mod oracle;
mod process;
mod sharing;
mod support;
mod synchronous;
mod tails;
mod traps;
mod waits;
