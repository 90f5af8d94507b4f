//! What a comparison comes to.

use super::item::Item;

/// In what two rows differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// Control went another way.
    Path,
    /// A register or a flag: its name, and what each side has.
    Register {
        name: &'static str,
        a: String,
        b: String,
    },
    Memory {
        a: String,
        b: String,
    },
    /// A system call was asked for something else.
    Arguments {
        a: String,
        b: String,
    },
    /// It answered something else.
    Answer {
        a: String,
        b: String,
    },
    /// What a call began with, came to, or met on its way.
    Words {
        a: String,
        b: String,
    },
}

/// The first place where two traces differ.
#[derive(Clone, Debug)]
pub struct Divergence {
    /// The last items that both have.
    pub before: Vec<Item>,
    /// What each has there; nothing where its trace has ended.
    pub a: Vec<Item>,
    pub b: Vec<Item>,
    pub what: Vec<What>,
}

/// Where two traces agree again.
#[derive(Clone, Debug)]
pub struct Meeting {
    pub a: Item,
    pub b: Item,
    /// Items passed on either side.
    pub passed_a: u64,
    pub passed_b: u64,
}

/// Both traces, held against each other to the end.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    pub divergence: Option<Divergence>,
    /// Where they first agreed again after [`Comparison::divergence`].
    pub meeting: Option<Meeting>,
    /// Steps that both took.
    pub common: u64,
    /// Of those, the ones that did something else.
    pub different: u64,
    /// Steps that only one took.
    pub only_a: u64,
    pub only_b: u64,
}
