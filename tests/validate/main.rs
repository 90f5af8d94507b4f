//! `overstep validate` as a user meets it.

mod compared;
mod emulated;
mod measured;
mod refused;
mod support;
