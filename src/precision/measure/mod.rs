//! Runs a workload under an event in a child, and keeps what its signal handler saw.

mod catcher;
pub(super) mod exec;
pub(super) mod isolated;
mod ledger;
pub mod observation;
pub(super) mod pair;
pub(super) mod period;
mod ring;
mod room;
mod run;
pub(super) mod spec;
pub(super) mod threads;

pub(super) use catcher::Handler;
pub use observation::{Observation, Stop};
pub(super) use run::observe;
pub(super) use spec::{Arming, Pages, Spec};
