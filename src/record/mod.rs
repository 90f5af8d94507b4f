//! What was seen: step records, the buffer the handler writes them to, the trace file and its reader.

pub mod control;
pub mod marker;
pub mod step;
pub mod verdict;
