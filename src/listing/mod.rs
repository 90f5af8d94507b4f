//! A trace as people and programs read it: rows once, then one file per output format.

pub mod names;
pub mod options;
pub mod palette;
