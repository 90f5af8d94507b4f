//! The columns a listing can have, by the names the command line knows them by.

/// One column of a text, Markdown, CSV or HTML listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Column {
    /// The row's number in its call.
    Ordinal,
    Call,
    Thread,
    Depth,
    Address,
    /// Module and offset.
    Module,
    /// Symbol and offset.
    Symbol,
    /// Source file and line.
    Source,
    Bytes,
    Instruction,
    /// Everything the instruction did, and what a reader has to know about the row.
    Changed,
    Registers,
    Flags,
    Memory,
    Syscall,
    Verdict,
    /// What happened since the step before: a column of CSV alone, where no row can stand between two steps.
    Markers,
}

impl Column {
    /// Every column, in the order of a listing that has them all.
    pub const ALL: [Self; 17] = [
        Self::Ordinal,
        Self::Call,
        Self::Thread,
        Self::Depth,
        Self::Address,
        Self::Module,
        Self::Symbol,
        Self::Source,
        Self::Bytes,
        Self::Instruction,
        Self::Changed,
        Self::Registers,
        Self::Flags,
        Self::Memory,
        Self::Syscall,
        Self::Verdict,
        Self::Markers,
    ];

    /// What a text listing shows unless asked for others.
    pub const TEXT: [Self; 6] =
        [Self::Ordinal, Self::Module, Self::Symbol, Self::Bytes, Self::Instruction, Self::Changed];

    /// What documents show: where, what and the effect.
    pub const DOCUMENT: [Self; 4] = [Self::Ordinal, Self::Symbol, Self::Instruction, Self::Changed];

    /// What a table for programs shows: each thing in a column of its own.
    pub const TABLE: [Self; 14] = [
        Self::Call,
        Self::Ordinal,
        Self::Thread,
        Self::Depth,
        Self::Address,
        Self::Module,
        Self::Symbol,
        Self::Bytes,
        Self::Instruction,
        Self::Registers,
        Self::Flags,
        Self::Memory,
        Self::Syscall,
        Self::Verdict,
    ];

    /// The name on the command line and in a table for programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ordinal => "n",
            Self::Call => "call",
            Self::Thread => "thread",
            Self::Depth => "depth",
            Self::Address => "address",
            Self::Module => "module",
            Self::Symbol => "symbol",
            Self::Source => "source",
            Self::Bytes => "bytes",
            Self::Instruction => "instruction",
            Self::Changed => "changed",
            Self::Registers => "registers",
            Self::Flags => "flags",
            Self::Memory => "memory",
            Self::Syscall => "syscall",
            Self::Verdict => "verdict",
            Self::Markers => "markers",
        }
    }

    /// The heading for people.
    #[must_use]
    pub const fn heading(self) -> &'static str {
        match self {
            Self::Module => "module+offset",
            other => other.name(),
        }
    }

    /// Columns of a terminal that a cell may ask for; longer ones shift their own line only.
    pub(super) const fn most(self) -> usize {
        match self {
            Self::Ordinal | Self::Call | Self::Thread | Self::Depth => 10,
            Self::Address => 18,
            Self::Module => super::code::MODULE_NAME + "+0x12345678".len(),
            Self::Symbol => super::code::NAME,
            Self::Bytes => 16,
            Self::Source => 24,
            Self::Instruction => 36,
            Self::Flags => 20,
            Self::Registers | Self::Memory | Self::Syscall | Self::Changed | Self::Markers => 48,
            Self::Verdict => 13,
        }
    }
}
