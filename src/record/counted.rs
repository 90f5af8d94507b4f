//! What the `instructions` engine counts: the PMU's events by perf's names, and what one count of each stands for.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::header::DecoderVendor;

/// An event that a PMU counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Counted {
    /// `PERF_COUNT_HW_INSTRUCTIONS`: the kernel picks this CPU's encoding.
    #[default]
    Instructions,
    /// `PERF_COUNT_HW_BRANCH_INSTRUCTIONS`: taken or not.
    Branches,
    /// `PERF_COUNT_HW_CPU_CYCLES`.
    Cycles,
    /// `PERF_TYPE_RAW`: event and umask as in the vendor's manual.
    Raw(u64),
}

/// What one count stands for, as far as the program's code can be held against it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u32)]
pub enum Unit {
    /// An instruction.
    #[default]
    Instruction = 1,
    /// A jump, call or return; the instructions between two of them are not counted.
    Branch = 2,
    /// Something that the code does not show.
    Other = 3,
}

/// Bits 0 to 7 of a raw event are its select, 8 to 15 its unit mask, in both vendors' manuals.
const SELECT: u64 = 0xff;
const UNIT_MASK: u64 = 0xff00;

impl Counted {
    /// Those that have a name.
    pub const NAMED: [Self; 3] = [Self::Instructions, Self::Branches, Self::Cycles];

    /// Reads what [`fmt::Display`] writes, and perf's other names of the same events.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "instructions" => Self::Instructions,
            "branches" | "branch-instructions" => Self::Branches,
            "cycles" | "cpu-cycles" => Self::Cycles,
            other => Self::Raw(u64::from_str_radix(other.strip_prefix('r')?, 16).ok()?),
        })
    }

    /// What it counts one by one on a CPU of this vendor, by the vendor's manual: of raw events, retired instructions
    /// (0xc0 of both) and retired branches (0xc4 of Intel, 0xc2 of AMD) are known.
    #[must_use]
    pub const fn unit(self, vendor: DecoderVendor) -> Unit {
        match (self, vendor) {
            (Self::Instructions, _) => Unit::Instruction,
            (Self::Branches, _) => Unit::Branch,
            (Self::Cycles, _) => Unit::Other,
            (Self::Raw(event), vendor) => match (event & SELECT, event & UNIT_MASK, vendor) {
                (0xc0, _, _) => Unit::Instruction,
                (0xc4, 0, DecoderVendor::Intel) | (0xc2, 0, DecoderVendor::Amd) => Unit::Branch,
                _ => Unit::Other,
            },
        }
    }
}

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Instructions => f.write_str("instructions"),
            Self::Branches => f.write_str("branches"),
            Self::Cycles => f.write_str("cycles"),
            Self::Raw(encoding) => write!(f, "r{encoding:x}"),
        }
    }
}

impl TryFrom<String> for Counted {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        Self::parse(&name).ok_or_else(|| format!("`{name}` is no event of a PMU"))
    }
}

impl From<Counted> for String {
    fn from(counted: Counted) -> Self {
        counted.to_string()
    }
}

/// How the `instructions` engine counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counting {
    pub event: Counted,
    pub unit: Unit,
    /// What the handler's tail adds to the count.
    pub tail: u64,
    /// After how many counts in all, the tail's included, the counter overflows.
    pub period: u64,
}

impl Counting {
    /// Of the other engines.
    pub const NONE: Self = Self { event: Counted::Instructions, unit: Unit::Instruction, tail: 0, period: 0 };

    /// Counts of the program's from arming to overflow.
    #[must_use]
    pub const fn wanted(&self) -> u64 {
        self.period.saturating_sub(self.tail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for event in Counted::NAMED.into_iter().chain([Counted::Raw(0x1c2)]) {
            assert_eq!(Counted::parse(&event.to_string()), Some(event));
            let json = serde_json::to_string(&event).unwrap();
            assert_eq!(serde_json::from_str::<Counted>(&json).unwrap(), event);
        }
        assert_eq!(Counted::parse("branch-instructions"), Some(Counted::Branches));
        for wrong in ["", "r", "rxyz", "page-faults", "instruction"] {
            assert_eq!(Counted::parse(wrong), None, "{wrong}");
        }
        assert!(serde_json::from_str::<Counted>("\"faults\"").is_err());
    }

    #[test]
    fn what_a_raw_event_counts_depends_on_the_vendor() {
        use DecoderVendor::{Amd, Intel};
        assert_eq!(Counted::Raw(0xc0).unit(Amd), Unit::Instruction);
        assert_eq!(Counted::Raw(0x01c0).unit(Intel), Unit::Instruction);
        assert_eq!(
            (Counted::Raw(0xc2).unit(Amd), Counted::Raw(0xc2).unit(Intel)),
            (Unit::Branch, Unit::Other)
        );
        assert_eq!(
            (Counted::Raw(0xc4).unit(Amd), Counted::Raw(0xc4).unit(Intel)),
            (Unit::Other, Unit::Branch)
        );
        // Conditional ones alone.
        assert_eq!(Counted::Raw(0x01c4).unit(Intel), Unit::Other);
        assert_eq!(Counted::Cycles.unit(Intel), Unit::Other);
    }
}
