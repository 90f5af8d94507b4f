//! Recorded facts in, outcomes out: pure, so that machines can be tested that are not at hand.

pub mod count;
mod countdown;
pub mod counter;
pub mod delivered;
pub mod histogram;
pub mod limits;
pub mod outcome;
pub mod peers;
pub mod period;
pub mod place;
pub mod placement;
pub mod row;
pub mod sequence;
pub mod statistics;

pub use histogram::Histogram;
pub use outcome::{Outcome, Verdict};
