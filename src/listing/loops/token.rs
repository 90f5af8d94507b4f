//! What an iteration consists of, as far as two of them can be told apart.

use std::collections::HashMap;

use super::folds::Fold;
use crate::address::RuntimeAddr;

/// One thing that happened: an instruction, a marker, or a whole loop inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Token {
    /// An instruction, and its depth.
    Step(RuntimeAddr, u32),
    /// A stretch out of scope.
    Native(RuntimeAddr),
    /// A loop, by what its iterations look like; how many there were makes no difference.
    Loop(u32),
    /// What has to be seen: nothing is like it.
    Unique(u64),
}

/// A stretch of rows without a jump back that made it a loop.
#[derive(Clone, Debug, Default)]
pub struct Stretch {
    /// Each with the number of the row it begins at.
    pub tokens: Vec<(Token, u64)>,
    /// Folds inside.
    pub folds: Vec<Fold>,
}

impl Stretch {
    /// The part from token `at` on, whose first row is number `row`.
    pub fn split_off(&mut self, at: usize, row: u64) -> Self {
        let tokens = self.tokens.split_off(at);
        let inside = self.folds.partition_point(|fold| fold.hidden.start < row);
        Self { tokens, folds: self.folds.split_off(inside) }
    }

    /// What it looks like, without row numbers.
    pub fn shape(&self) -> Vec<Token> {
        self.tokens.iter().map(|(token, _)| *token).collect()
    }
}

/// Numbers for loops that look alike.
#[derive(Debug, Default)]
pub struct Shapes(HashMap<Vec<Vec<Token>>, u32>);

impl Shapes {
    /// The number of loops whose iterations take these shapes, in the order they first occur.
    pub fn number(&mut self, shapes: Vec<Vec<Token>>) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry(shapes).or_insert(next)
    }
}
