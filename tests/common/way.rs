//! The ways of stepping that must agree.

/// One engine with its delivery and step mode.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    pub name: &'static str,
    /// Of `overstep trace`.
    pub options: &'static [&'static str],
    /// Control only at the end of each basic block: rows inside carry no registers and no memory.
    pub blocks: bool,
    /// In a sandbox that refuses perf_event_open: breakpoints are patches.
    pub refused: bool,
    /// Under a software PMU of this model.
    pub emulated: Option<&'static [&'static str]>,
}

/// What the others are held against.
pub const REFERENCE: Way = Way {
    name: "breakpoint/sigtrap",
    options: &["--engine", "breakpoint", "--delivery", "sigtrap"],
    blocks: false,
    refused: false,
    emulated: None,
};

/// The others.
pub const OTHERS: [Way; 4] = [
    Way {
        name: "breakpoint/fasync",
        options: &["--engine", "breakpoint", "--delivery", "fasync"],
        blocks: false,
        refused: false,
        emulated: None,
    },
    Way {
        name: "trap-flag",
        options: &["--engine", "trap-flag"],
        blocks: false,
        refused: false,
        emulated: None,
    },
    Way { name: "trap-flag without perf", options: &[], blocks: false, refused: true, emulated: None },
    BLOCK,
];

pub const BLOCK: Way = Way {
    name: "breakpoint/sigtrap in blocks",
    options: &["--engine", "breakpoint", "--delivery", "sigtrap", "--step", "block"],
    blocks: true,
    refused: false,
    emulated: None,
};

/// The instruction counter, where there is none, of a CPU without skid.
pub const COUNTER: Way = Way {
    name: "instructions/fasync",
    options: &["--engine", "instructions", "--delivery", "fasync"],
    blocks: false,
    refused: false,
    emulated: Some(&[]),
};

pub const COUNTER_SIGTRAP: Way = Way {
    name: "instructions/sigtrap",
    options: &["--engine", "instructions", "--delivery", "sigtrap"],
    ..COUNTER
};
