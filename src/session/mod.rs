//! Arms and disarms: joins events, handler and record for a process or for a call of the library.

pub mod arm;
pub mod header;
pub mod machine;
pub mod recorded;
pub mod survey;
pub mod tracer;
