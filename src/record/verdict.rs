//! How an instruction's address was reached, as far as it was observed.

use crate::address::RuntimeAddr;

/// One row's verdict: what the stop at its address says about delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A signal came, and the saved RIP was the one expected.
    Exact,
    /// A signal came and nothing had retired since the last stop.
    Zero,
    /// A signal came late: `n` further instructions had retired.
    Skid(u32),
    /// No signal: the row was filled in by walking the image (block interiors, gaps with one path).
    Reconstructed,
    /// A signal came at an address that nothing explains; this one was expected.
    Unexplained { expected: RuntimeAddr },
    /// Steps before this row are missing, and the tracer knows it.
    Lost,
}
