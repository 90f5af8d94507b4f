//! Recorded facts in, outcomes out: pure, so that machines can be tested that are not at hand.

pub mod delivered;
pub mod histogram;
pub mod outcome;
pub mod place;
pub mod row;
pub mod statistics;

pub use histogram::Histogram;
pub use outcome::{Outcome, Verdict};
