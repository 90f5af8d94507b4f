//! The contestants: overstep, and what it is held against.

pub mod bare;
pub mod ours;
pub mod single_step;
pub mod trap_flag;
