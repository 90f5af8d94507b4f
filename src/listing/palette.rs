//! Terminal colours by what they mean, so that a listing without them differs in nothing else.

/// One SGR start sequence per role (ECMA-48, 8.3.117); all empty when colours are off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Palette {
    /// Function names and headings.
    pub name: &'static str,
    /// What is there for reference: addresses, bytes, old values.
    pub faint: &'static str,
    /// What changed.
    pub value: &'static str,
    /// Calls and returns.
    pub call: &'static str,
    /// Jumps, and system calls.
    pub branch: &'static str,
    /// Events between rows.
    pub marker: &'static str,
    /// All as expected.
    pub good: &'static str,
    /// Verdicts that are not `exact`.
    pub bad: &'static str,
    /// Ends any of the others.
    pub end: &'static str,
}

impl Palette {
    /// No colours.
    pub const PLAIN: Self =
        Self { name: "", faint: "", value: "", call: "", branch: "", marker: "", good: "", bad: "", end: "" };

    /// The sixteen basic colours, which follow the terminal's own theme.
    pub const TERMINAL: Self = Self {
        name: "\x1b[1m",
        faint: "\x1b[2m",
        value: "\x1b[36m",
        call: "\x1b[35m",
        branch: "\x1b[34m",
        marker: "\x1b[33m",
        good: "\x1b[32m",
        bad: "\x1b[1;31m",
        end: "\x1b[0m",
    };
}
