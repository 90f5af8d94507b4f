//! One place where a trace does not hold, in words.

use std::fmt;

use crate::address::RuntimeAddr;

/// What does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Flaw {
    /// The recorded successor is not the one that the instruction and its registers give.
    WrongNext,
    /// The row does not lie where the one before it went.
    Discontinuous,
    /// The instruction map of the ELF file has no instruction starting there.
    NotABoundary,
    /// The recorded bytes are no instruction.
    Undecodable,
    /// The instruction cannot retire.
    CannotRetire,
    /// Depth changed as no call or return changes it.
    Depth,
    /// Rows are not numbered one after the other.
    Ordinal,
    /// A signal that was not where it had to be, by the tracer's own verdict.
    Verdict,
    /// Steps are missing, by the tracer's own word.
    Lost,
    /// The kernel's count and the handler's do not agree.
    Count,
    /// Part of the file is damaged.
    Damage,
}

/// A flaw, where it is, what was expected there and what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub flaw: Flaw,
    /// Where; `None` for the trace as a whole.
    pub row: Option<RowId>,
    pub expected: String,
    pub found: String,
}

/// Which row a finding is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowId {
    pub call: u64,
    /// From 1 in its call; 0 before the first row.
    pub n: u64,
    pub thread: u32,
    pub address: RuntimeAddr,
    /// The address by symbol or module, where one is known.
    pub name: Option<String>,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WrongNext => "wrong successor",
            Self::Discontinuous => "rows do not connect",
            Self::NotABoundary => "not an instruction boundary",
            Self::Undecodable => "no instruction",
            Self::CannotRetire => "cannot retire",
            Self::Depth => "wrong depth",
            Self::Ordinal => "wrong number",
            Self::Verdict => "signal not as expected",
            Self::Lost => "steps lost",
            Self::Count => "counts disagree",
            Self::Damage => "damaged file",
        })
    }
}

impl fmt::Display for RowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "call {} row {} at {}", self.call, self.n, self.address)?;
        if let Some(name) = &self.name {
            write!(f, " ({name})")?;
        }
        Ok(())
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(row) = &self.row {
            write!(f, "{row}: ")?;
        }
        write!(f, "{}: expected {}, found {}", self.flaw, self.expected, self.found)
    }
}
