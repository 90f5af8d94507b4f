//! What an iteration consists of, as far as two of them can be told apart.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::fold::Fold;

/// One thing that happened: an instruction, a stretch out of scope, or a whole loop inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Token {
    /// An instruction at its depth.
    Step(u32),
    Native(u32),
    /// A loop and its depth, whatever its iterations did and how many there were.
    Loop(u32, u32),
    /// Nothing is like it.
    Unlike(u32),
}

/// A loop that was run inside, more closely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inner {
    pub rounds: u64,
    /// Equal where all iterations did the same.
    pub form: u64,
    /// The form of each of its iterations, where they all have one.
    pub each: Option<u64>,
}

/// A stretch of rows.
#[derive(Debug, Default)]
pub struct Stretch {
    pub tokens: Vec<Token>,
    /// The loops among the tokens.
    pub inner: Vec<Inner>,
    /// Folds of the loops among the tokens.
    pub folds: Vec<Fold>,
}

impl Stretch {
    /// Goes on with another.
    pub fn append(&mut self, other: Self) {
        self.tokens.extend(other.tokens);
        self.inner.extend(other.inner);
        self.folds.extend(other.folds);
    }

    /// Equal where everything in it is, loops inside with all that they did.
    pub fn form(&self, path: u32) -> u64 {
        let mut hasher = DefaultHasher::new();
        path.hash(&mut hasher);
        self.inner.iter().for_each(|inner| inner.form.hash(&mut hasher));
        hasher.finish()
    }

    pub fn has_unlike(&self) -> bool {
        self.tokens.iter().any(|token| matches!(token, Token::Unlike(_)))
    }
}

/// Numbers for stretches that run through the same, loops inside being one token each.
#[derive(Debug, Default)]
pub struct Paths(HashMap<Vec<Token>, u32>);

impl Paths {
    pub fn number(&mut self, tokens: &[Token]) -> u32 {
        if let Some(known) = self.0.get(tokens) {
            return *known;
        }
        let next = self.0.len() as u32;
        self.0.insert(tokens.to_vec(), next);
        next
    }
}
