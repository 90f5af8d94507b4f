//! Where a thread's control has to be, from one row or marker to the next.

use crate::address::RuntimeAddr;
use crate::record::marker::Marker;
use crate::record::verdict::Verdict;

/// Where the next row of a thread must lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Control {
    At(RuntimeAddr),
    /// Here, after a native stretch, unless that called back into a traced function.
    Back(RuntimeAddr),
    /// The trace does not say: nothing was recorded yet, or a marker broke the chain.
    #[default]
    Unknown,
}

impl Control {
    /// Where a row had to be if not at `address`; `None` if it may be there. `is_entry` says whether a function
    /// starts at `address`.
    #[must_use]
    pub fn elsewhere(self, address: RuntimeAddr, is_entry: impl FnOnce() -> bool) -> Option<RuntimeAddr> {
        match self {
            Self::At(expected) => (expected != address).then_some(expected),
            Self::Back(expected) => (expected != address && !is_entry()).then_some(expected),
            Self::Unknown => None,
        }
    }

    /// Where a marker had to find control that says where native code is. In a native stretch already, it may be anywhere:
    /// native code has called what comes back elsewhere.
    const fn native_target(self, target: RuntimeAddr) -> Option<RuntimeAddr> {
        if matches!(self, Self::Back(_)) { None } else { Some(target) }
    }

    /// Where control is after `marker`, and the address that the marker had to find it at, if it states one.
    #[must_use]
    pub const fn after(self, marker: &Marker) -> (Self, Option<RuntimeAddr>) {
        match marker {
            Marker::Enter { registers, .. } => (Self::At(registers.rip), None),
            // What comes back elsewhere (longjmp, unwinding) has no such address.
            Marker::Native { target, resume: RuntimeAddr(0) } => (Self::Unknown, self.native_target(*target)),
            Marker::Native { target, resume } => (Self::Back(*resume), self.native_target(*target)),
            Marker::Signal { handler, .. } => (Self::At(*handler), None),
            // A signal's handler may have changed the frame that it returns to, or left by siglongjmp; a section
            // may have aborted; what was lost may have gone anywhere.
            Marker::Fault { .. }
            | Marker::Sigreturn
            | Marker::Rseq { .. }
            | Marker::Lost { .. }
            | Marker::Leave { .. }
            | Marker::Exec
            | Marker::Exit { .. } => (Self::Unknown, None),
            Marker::Masked { .. } | Marker::Fork { .. } => (self, None),
        }
    }
}

/// Whether a row with this verdict lies where the path says. The others say themselves that they do not, and are
/// found as such.
#[must_use]
pub const fn keeps_to_path(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Exact | Verdict::Skid(_) | Verdict::Reconstructed)
}
