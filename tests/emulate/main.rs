//! `overstep emulate`: programs of our own for each way an event is used, with what exactly they have to print.

mod delivery;
mod oracle;
mod sharing;
mod support;
