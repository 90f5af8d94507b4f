//! Was what came what had to come? Verdicts counted, and a whole trace proved again from its file alone.

pub mod summary;
