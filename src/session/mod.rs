//! Arms and disarms: joins events, handler and record for a process or for a call of the library.

pub mod arm;
pub mod survey;
