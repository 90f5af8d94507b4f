//! Iterations that are left out, and what is said of them.

use std::fmt::Write as _;
use std::ops::Range;

/// Numbers of rounds that are said one by one.
const SAID: usize = 8;
/// Paths whose iterations are counted one by one.
const COUNTED: usize = 3;

/// Iterations of one loop that are left out, since one by the same path is shown above.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fold {
    /// Row numbers within the call.
    pub hidden: Range<u64>,
    /// Iterations left out.
    pub left_out: u64,
    /// How many iterations of the loop took each path, in the order in which the paths were first taken. What has run
    /// when control leaves the loop within an iteration is none.
    pub by_path: Vec<u64>,
    /// In what iterations by one path differ.
    pub inside: Inside,
    pub like: Like,
}

/// Which of the iterations shown those left out are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Like {
    AboveAndBelow,
    Above,
    /// Each is like one that is shown farther above.
    Earlier,
}

/// What the loops inside did in iterations by one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inside {
    Same,
    /// More or fewer rounds, all of them alike: of each loop of which that holds, unless there are several paths.
    Rounds(Vec<Rounds>),
    /// Not the same, and perhaps not the same number of rounds either.
    Paths(Vec<Rounds>),
}

/// How often a loop inside was gone round, in each iteration around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rounds {
    /// The first ones.
    each: Vec<u64>,
    least: u64,
    most: u64,
}

impl Rounds {
    pub fn new(rounds: u64) -> Self {
        Self { each: vec![rounds], least: rounds, most: rounds }
    }

    pub fn add(&mut self, rounds: u64) {
        (self.least, self.most) = (self.least.min(rounds), self.most.max(rounds));
        if self.each.len() <= SAID {
            self.each.push(rounds);
        }
    }

    pub fn differ(&self) -> bool {
        self.least < self.most
    }

    fn text(&self) -> String {
        if self.each.len() > SAID {
            return format!("{} to {}", self.least, self.most);
        }
        self.each.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
    }
}

impl Fold {
    /// Iterations of the loop in all.
    #[must_use]
    pub fn of(&self) -> u64 {
        self.by_path.iter().sum()
    }

    /// In words: `×48: 46 iterations like the one above and the one below, rows 11 to 332`.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!("×{}", self.of());
        self.push_paths(&mut text);
        self.push_inside(&mut text);
        let (first, last) = (self.hidden.start, self.hidden.end - 1);
        let iterations = if self.left_out == 1 { "iteration" } else { "iterations" };
        let otherwise = if self.inside == Inside::Same { "" } else { "otherwise " };
        let like = match self.like {
            Like::AboveAndBelow => "the one above and the one below",
            Like::Above => "the one above",
            Like::Earlier if self.left_out == 1 => "one of those above",
            Like::Earlier => "those above",
        };
        let rows = if first == last { format!("row {first}") } else { format!("rows {first} to {last}") };
        let _ = write!(text, ": {} {iterations} {otherwise}like {like}, {rows}", self.left_out);
        text
    }

    fn push_paths(&self, text: &mut String) {
        if self.by_path.len() > COUNTED {
            let _ = write!(text, " by {} paths", self.by_path.len());
        } else if self.by_path.len() > 1 {
            for (count, path) in self.by_path.iter().zip(["one path", "another", "a third"]) {
                let _ = write!(text, ", {count} by {path}");
            }
        }
    }

    fn push_inside(&self, text: &mut String) {
        let (rounds, paths) = match &self.inside {
            Inside::Same => return,
            Inside::Rounds(rounds) => (rounds, ""),
            Inside::Paths(rounds) if rounds.is_empty() => return text.push_str(", inner paths differ"),
            Inside::Paths(rounds) => (rounds, " by differing paths"),
        };
        let _ = match rounds.as_slice() {
            [one] => write!(text, ", inner rounds {}{paths}", one.text()),
            [one, other] => write!(text, ", inner rounds {} and {}{paths}", one.text(), other.text()),
            _ => write!(text, ", inner rounds differ"),
        };
    }
}
