//! Checks beyond the matrix: sequences of codes, what peers test, counts, limits.

mod counts;
mod limits;
mod one;
mod peers;
mod period;
mod placement;
mod sequences;

pub(super) use one::all;
