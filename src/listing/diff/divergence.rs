//! What a comparison comes to.

use super::item::Item;

/// In what two rows differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// Control went another way.
    Path,
    /// One trace has nothing there: which side, and why.
    Ends {
        side: &'static str,
        why: String,
    },
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

/// A place where two traces differ.
#[derive(Clone, Debug)]
pub struct Divergence {
    /// The last items that both have.
    pub before: Vec<Item>,
    /// What each has there; nothing where its trace has ended.
    pub a: Vec<Item>,
    pub b: Vec<Item>,
    pub what: Vec<What>,
}

/// Where two traces have the same rows again.
#[derive(Clone, Debug)]
pub struct Meeting {
    pub a: Item,
    pub b: Item,
    /// Rows passed on either side since they parted, markers left out: they have no numbers.
    pub passed_a: u64,
    pub passed_b: u64,
}

/// Both traces, held against each other to the end.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// The first difference of any kind.
    pub divergence: Option<Divergence>,
    /// The first place where the paths part, if that is another one.
    pub parting: Option<Divergence>,
    /// Where the paths go on together after they first parted.
    pub rejoined: Option<Meeting>,
    /// From where on nothing differs to the end: a register that holds something else may decide long after.
    pub agreed: Option<Meeting>,
    /// Steps that both took.
    pub common: u64,
    /// Of those, the ones that did something else.
    pub different: u64,
    /// Steps that only one took.
    pub only_a: u64,
    pub only_b: u64,
}

impl Comparison {
    /// The first place where the paths part.
    #[must_use]
    pub fn parts(&self) -> Option<&Divergence> {
        self.parting.as_ref().or_else(|| self.divergence.as_ref().filter(|it| it.parts()))
    }
}

impl Divergence {
    /// Whether control goes another way there, or one trace ends.
    #[must_use]
    pub fn parts(&self) -> bool {
        self.what.iter().any(|what| matches!(what, What::Path | What::Ends { .. }))
    }
}
