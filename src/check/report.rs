//! What a check comes to.

use std::fmt;

use super::expectation::Basis;
use super::finding::{Finding, Flaw};
use super::summary::Summary;

/// Findings kept in words; further ones are counted.
pub const KEPT: usize = 20;

/// Rows by the strength of what was held against their successor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// Computed from the instruction, its registers and the memory it read.
    pub state: u64,
    /// Confirmed by what the matching call had pushed.
    pub call_stack: u64,
    /// Only tested for membership in the successors that the bytes allow.
    pub bytes: u64,
    /// Not tested: the trace does not record what decides.
    pub none: u64,
}

/// The outcome of checking a whole trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub summary: Summary,
    pub evidence: Evidence,
    /// Rows whose address the following row or marker bore out.
    pub connected: u64,
    /// Rows that the ELF file's instruction map confirms as boundaries.
    pub boundaries: u64,
    /// Rows about which that map says nothing.
    pub boundaries_unknown: u64,
    /// Rows whose code was not recorded.
    pub code_missing: u64,
    /// Rows whose executed bytes are not those of the ELF file. No flaw by itself: code may write code.
    pub differs_from_file: u64,
    /// Stretches of the file that a writer had taken when it was killed, before its first event there. No flaw: no row
    /// can be missing there, and what the writer had begun before ends with a whole event.
    pub holes: u64,
    /// The file has no end: it was cut, or its writer killed.
    pub unclosed: bool,
    /// The step events' own count was compared with the stops handled.
    pub counted: bool,
    /// The first [`KEPT`] findings.
    pub findings: Vec<Finding>,
    /// All findings.
    pub flaws: u64,
}

impl Report {
    /// Whether nothing was found against the trace, and there was something to check.
    #[must_use]
    pub const fn holds(&self) -> bool {
        self.flaws == 0 && self.summary.steps > 0
    }

    /// Counts `finding` and keeps it if it is among the first.
    pub fn add(&mut self, finding: Finding) {
        self.flaws += 1;
        if self.findings.len() < KEPT {
            self.findings.push(finding);
        }
    }

    /// Counts one row's successor by what it was tested against.
    pub fn add_evidence(&mut self, basis: Basis) {
        *match basis {
            Basis::State => &mut self.evidence.state,
            Basis::CallStack => &mut self.evidence.call_stack,
            Basis::Bytes => &mut self.evidence.bytes,
            Basis::None => &mut self.evidence.none,
        } += 1;
    }

    /// Whether a flaw of this kind is among the findings kept.
    #[must_use]
    pub fn has(&self, flaw: Flaw) -> bool {
        self.findings.iter().any(|finding| finding.flaw == flaw)
    }
}

impl fmt::Display for Report {
    /// Several lines without a line feed at the end: the findings, then what was compared with what.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.findings {
            writeln!(f, "{finding}")?;
        }
        let more = self.flaws - self.findings.len() as u64;
        if more > 0 {
            writeln!(f, "and {more} more")?;
        }
        let Evidence { state, call_stack, bytes, none } = self.evidence;
        writeln!(f, "{} rows checked, {} findings", self.summary.steps, self.flaws)?;
        write!(f, "successors: {state} computed from the instruction and the state recorded with it")?;
        for (count, how) in [
            (call_stack, "confirmed by the call that pushed the return address"),
            (bytes, "only tested against the ways the bytes allow (no registers recorded there)"),
            (none, "open (the memory that decides is not recorded; trace with --memory)"),
        ] {
            if count > 0 {
                write!(f, ", {count} {how}")?;
            }
        }
        write!(f, "\nboundaries: {} by the ELF file's instruction map", self.boundaries)?;
        if self.boundaries_unknown > 0 {
            write!(f, ", {} unknown to it", self.boundaries_unknown)?;
        }
        if self.code_missing > 0 {
            write!(f, "\ncode: {} rows without recorded bytes", self.code_missing)?;
        }
        if self.differs_from_file > 0 {
            write!(
                f,
                "\ncode: {} rows executed other bytes than their ELF file holds",
                self.differs_from_file
            )?;
        }
        if self.holes > 0 {
            let places = if self.holes == 1 { "place" } else { "places" };
            write!(
                f,
                "\nfile: {} {places} taken by a writer that was killed before it wrote there",
                self.holes
            )?;
        }
        if self.unclosed {
            write!(f, "\nend: none in the file; it was cut, or overstep was killed or is still running")?;
        }
        let compared = if self.counted {
            "equals the stops handled"
        } else {
            "not in this file; the tracer compares it at the end of each call"
        };
        write!(f, "\nstep event's own count: {compared}")
    }
}
