//! Which rows of a trace are listed.

use std::ops::RangeInclusive;

use super::kind::Kind;
use super::rows::{MarkerRow, Occasion, StepRow};
use crate::image::glob::glob;

/// A kind of row that a listing can be cut down to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Only {
    /// Calls and returns.
    Calls,
    /// Jumps, taken or not.
    Branches,
    /// What reads or writes memory.
    Memory,
    /// System calls.
    Syscalls,
}

/// What has to be true of a row for it to be listed; empty lists admit every row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Row numbers within a call.
    pub ranges: Vec<RangeInclusive<u64>>,
    pub calls: Vec<RangeInclusive<u64>>,
    pub depths: Vec<RangeInclusive<u64>>,
    /// As the listing numbers them: by the kernel's id, or in a stable one from 1 in the order of their calls.
    pub threads: Vec<u32>,
    /// Names or globs of the functions that rows lie in.
    pub functions: Vec<String>,
    pub only: Vec<Only>,
    /// As many rows as this, the last of those that the others admit.
    pub last: Option<usize>,
}

impl Selection {
    /// Whether every row is listed.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        *self == Self::default()
    }

    /// Whether it cuts stretches out of calls, and leaves nothing out of those.
    #[must_use]
    pub fn is_stretch(&self) -> bool {
        let cut = !self.ranges.is_empty() || self.last.is_some();
        cut && self.depths.is_empty() && self.functions.is_empty() && self.only.is_empty()
    }

    /// Whether the row is listed, but for [`Selection::last`].
    #[must_use]
    pub fn admits(&self, row: &StepRow) -> bool {
        within(&self.ranges, row.entry.n)
            && within(&self.depths, u64::from(row.entry.depth))
            && self.admits_call(row.entry.call, row.thread())
            && (self.only.is_empty() || self.only.iter().any(|only| is(*only, row)))
            && (self.functions.is_empty() || self.names(row))
    }

    /// Whether a marker behind a row that was listed, or not, is. What ends a trace is not left out for the rows before
    /// it.
    #[must_use]
    pub fn admits_marker(&self, row: &MarkerRow, behind_listed: bool) -> bool {
        let ends =
            matches!(row.occasion, Occasion::CutOff(_)) || matches!(row.kind, "lost" | "exit" | "exec");
        self.admits_call(row.call, row.thread()) && (behind_listed || ends)
    }

    /// A thread goes by the number that the listing has for it.
    fn admits_call(&self, call: u64, thread: u64) -> bool {
        let wanted = |known: &u32| u64::from(*known) == thread;
        within(&self.calls, call) && (self.threads.is_empty() || self.threads.iter().any(wanted))
    }

    fn names(&self, row: &StepRow) -> bool {
        let Some((name, _)) = &row.code.place.symbol else { return false };
        let raw = row.code.raw_symbol.as_deref();
        // The parameters of a C++ name and the path of a Rust one may be left out.
        let path = crate::image::names::path(name);
        let last = crate::image::names::last_component(path);
        let names = [Some(&**name), raw, Some(path), Some(last)];
        self.functions.iter().any(|wanted| names.iter().flatten().any(|name| glob(wanted, name)))
    }
}

fn within(ranges: &[RangeInclusive<u64>], value: u64) -> bool {
    ranges.is_empty() || ranges.iter().any(|range| range.contains(&value))
}

fn is(only: Only, row: &StepRow) -> bool {
    match only {
        Only::Calls => matches!(row.code.kind, Kind::Call | Kind::Return),
        Only::Branches => matches!(row.code.kind, Kind::Jump | Kind::Conditional),
        Only::Memory => row.code.touches_memory || !row.entry.memory.is_empty(),
        Only::Syscalls => row.entry.syscall.is_some(),
    }
}
