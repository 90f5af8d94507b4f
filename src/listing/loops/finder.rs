//! Finds loops while a call's rows go by.
//!
//! A loop is what a jump back closes: to an instruction that was executed before in the same frame, with what lay
//! between as its first iteration. It goes on while control stays between its head and its last jump back, calls from
//! there included. Loops nest; a whole inner loop is one token of the outer iteration, whatever its number of
//! iterations. No static control flow is needed, so it works for code of any origin.

use super::folds::Fold;
use super::open_loop::OpenLoop;
use super::token::{Shapes, Stretch, Token};
use crate::address::RuntimeAddr;
use crate::record::marker::Marker;
use crate::record::reader::{MarkerEntry, StepEntry};
use crate::record::verdict::Verdict;

/// The loops of one call.
#[derive(Debug, Default)]
pub struct Finder {
    /// Outside every loop.
    base: Stretch,
    /// The innermost last.
    open: Vec<OpenLoop>,
    shapes: Shapes,
    unique: u64,
    /// The row that comes next.
    next_row: u64,
    /// The last step: where it stands, how deep, and where it led.
    last: Option<(RuntimeAddr, u32, RuntimeAddr)>,
}

impl Finder {
    /// Follows a row.
    pub fn step(&mut self, step: &StepEntry) {
        self.next_row = step.n;
        // A step back within one frame, by a jump: a call or a return would have changed the depth.
        if let Some((from, depth, next)) = self.last
            && depth == step.depth
            && next == step.address
            && step.address <= from
        {
            self.jumped_back(from, step.address, depth);
        }
        while self.open.last().is_some_and(|innermost| !innermost.holds(step.address, step.depth)) {
            self.close_innermost();
        }
        let ordinary = matches!(step.verdict, Verdict::Exact | Verdict::Reconstructed);
        let token = if ordinary { Token::Step(step.address, step.depth) } else { self.unlike_any() };
        self.push(token);
        self.next_row = step.n + 1;
        self.last = Some((step.address, step.depth, step.next));
    }

    /// Follows a marker. All but native stretches have to be seen.
    pub fn marker(&mut self, entry: &MarkerEntry) {
        let token = match entry.marker {
            Marker::Native { target, .. } => Token::Native(target),
            _ => self.unlike_any(),
        };
        self.push(token);
    }

    /// The folds of the call, by their first row.
    #[must_use]
    pub fn finish(mut self) -> Vec<Fold> {
        while !self.open.is_empty() {
            self.close_innermost();
        }
        self.base.folds.sort_by_key(|fold| fold.hidden.start);
        self.base.folds
    }

    fn unlike_any(&mut self) -> Token {
        self.unique += 1;
        Token::Unique(self.unique)
    }

    fn push(&mut self, token: Token) {
        let row = self.next_row;
        self.stretch(self.open.len()).tokens.push((token, row));
    }

    /// What is being run inside the first `level` open loops.
    fn stretch(&mut self, level: usize) -> &mut Stretch {
        match level.checked_sub(1).and_then(|index| self.open.get_mut(index)) {
            Some(innermost) => &mut innermost.current,
            None => &mut self.base,
        }
    }

    fn jumped_back(&mut self, from: RuntimeAddr, head: RuntimeAddr, depth: u32) {
        let row = self.next_row;
        for level in (0..=self.open.len()).rev() {
            let known = level > 0 && self.open[level - 1].head == head && self.open[level - 1].depth == depth;
            let tokens = &self.stretch(level).tokens;
            let begins = tokens.iter().rposition(|(token, _)| *token == Token::Step(head, depth));
            if !known && begins.is_none() {
                continue;
            }
            while self.open.len() > level {
                self.close_innermost();
            }
            if known {
                let innermost = &mut self.open[level - 1];
                innermost.end = innermost.end.max(from);
                innermost.iterated(row);
            } else if let Some(at) = begins {
                let around = self.stretch(level);
                let first_row = around.tokens[at].1;
                let first = around.split_off(at, first_row);
                self.open.push(OpenLoop::new(head, depth, from, first, row));
            }
            return;
        }
    }

    fn close_innermost(&mut self) {
        let Some(innermost) = self.open.pop() else { return };
        let closed = innermost.close(self.next_row);
        let number = self.shapes.number(closed.shapes);
        let around = self.stretch(self.open.len());
        around.tokens.push((Token::Loop(number), closed.first_row));
        around.folds.extend(closed.folds);
        around.tokens.extend(closed.rest.tokens);
        around.folds.extend(closed.rest.folds);
    }
}
