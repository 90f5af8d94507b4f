//! In what iterations by one path differ: the loops inside.

use super::fold::{Inside, Rounds};
use super::stretch::Inner;

/// Iterations by one path.
#[derive(Debug)]
pub struct Alike {
    pub count: u64,
    /// The loops inside of the first one.
    first: Vec<Inner>,
    /// Whether all did the same.
    same: bool,
    /// Whether the numbers of rounds are all that differs.
    only_rounds: bool,
    rounds: Vec<Rounds>,
}

impl Alike {
    pub fn new(inner: Vec<Inner>) -> Self {
        let rounds = inner.iter().map(|inner| Rounds::new(inner.rounds)).collect();
        Self { count: 1, first: inner, same: true, only_rounds: true, rounds }
    }

    pub fn add(&mut self, inner: &[Inner]) {
        self.count += 1;
        for ((first, rounds), inner) in self.first.iter().zip(&mut self.rounds).zip(inner) {
            rounds.add(inner.rounds);
            if first.form != inner.form {
                self.same = false;
                let both = first.each.zip(inner.each);
                self.only_rounds &= both.is_some_and(|(first, each)| first == each);
            }
        }
    }

    pub fn inside(&self) -> Inside {
        if self.same {
            return Inside::Same;
        }
        let rounds = self.rounds.iter().filter(|rounds| rounds.differ()).cloned().collect();
        if self.only_rounds { Inside::Rounds(rounds) } else { Inside::Paths(rounds) }
    }
}
