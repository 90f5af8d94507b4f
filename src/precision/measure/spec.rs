//! What one run measures.

use crate::event::attr::Attr;
use crate::event::ioctl;
use crate::precision::event::{Delivery, Nature};
use crate::precision::plan::Patience;
use crate::precision::workload::{Touches, Workload};

/// How the event is armed in front of the workload's loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arming {
    /// It goes on until the loop's end.
    Enable,
    /// It stops by itself after so many overflows.
    Refresh(u32),
}

/// What the workload's pages are before each round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// There: touching them faults nothing.
    Present,
    /// Given back, so that each iteration's first touch faults.
    Fresh,
}

/// One run: `rounds` times `iterations` of a workload under an event.
#[derive(Clone, Debug)]
pub struct Spec {
    pub attr: Attr,
    pub delivery: Delivery,
    pub nature: Nature,
    pub workload: Workload,
    pub iterations: u64,
    pub rounds: u64,
    pub pages: Pages,
    pub arming: Arming,
    /// The CPU to run on; `None` leaves it to the scheduler.
    pub cpu: Option<u32>,
    /// How long the child may take.
    pub patience: Patience,
}

impl Spec {
    pub(super) fn pages_needed(&self) -> u64 {
        match self.workload.touches {
            Touches::OnePage => 1,
            Touches::PageEach => self.iterations.max(1),
        }
    }
}

impl Arming {
    pub(super) const fn request(self) -> u64 {
        match self {
            Self::Enable => ioctl::ENABLE,
            Self::Refresh(_) => ioctl::REFRESH,
        }
    }

    pub(super) const fn argument(self) -> u64 {
        match self {
            Self::Enable => 0,
            Self::Refresh(overflows) => overflows as u64,
        }
    }
}
