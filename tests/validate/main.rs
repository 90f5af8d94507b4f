//! `overstep validate` as a user meets it.

mod compared;
mod emulated;
mod interrupted;
mod measured;
mod refused;
mod starved;
mod support;
