//! What came of a check.

use serde::{Deserialize, Serialize};

/// How a check ends. A skip and a known kernel bug are findings, not failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// As it has to be.
    Pass,
    /// Not as it has to be, and it is known what is wrong.
    Fail,
    /// Not measured; the reason says why.
    Skip,
    /// Not as it has to be, for a cause that the reason names.
    KnownKernelBug,
    /// Nothing that is known explains it.
    Unexplained,
}

/// An outcome and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    pub outcome: Outcome,
    /// Empty for a plain pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Outcome {
    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Skip => "skip",
            Self::KnownKernelBug => "known kernel bug",
            Self::Unexplained => "unexplained",
        }
    }

    /// Whether `validate` exits with 1 for it.
    #[must_use]
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::Fail | Self::Unexplained)
    }
}

impl Verdict {
    #[must_use]
    pub const fn pass() -> Self {
        Self { outcome: Outcome::Pass, reason: None }
    }

    pub fn because(outcome: Outcome, reason: impl Into<String>) -> Self {
        Self { outcome, reason: Some(reason.into()) }
    }

    pub fn fail(reason: impl Into<String>) -> Self {
        Self::because(Outcome::Fail, reason)
    }

    pub fn skip(reason: impl Into<String>) -> Self {
        Self::because(Outcome::Skip, reason)
    }
}
