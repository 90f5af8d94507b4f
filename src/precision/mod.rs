//! How precise this machine's overflow signals are, measured against workloads with known answers.
//!
//! `workload` is code of which every instruction is known; `measure` runs it in a child under an event and keeps
//! what the signal handler saw; `judge` is pure: recorded facts in, outcomes out; `report` shows them.

pub mod event;
pub mod judge;
pub mod measure;
pub mod plan;
pub mod report;
pub mod suite;
mod uprobe;
pub mod workload;
