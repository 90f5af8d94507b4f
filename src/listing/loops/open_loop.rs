//! A loop that is being run.

use std::ops::Range;

use super::folds::Fold;
use super::token::{Stretch, Token};
use crate::address::RuntimeAddr;

/// Iterations that look alike, of which the first and the last are shown.
#[derive(Debug)]
struct Run {
    shape: Vec<Token>,
    count: u64,
    /// Rows of the first and of the last iteration, and the folds inside.
    first: Iteration,
    last: Option<Iteration>,
}

#[derive(Debug)]
struct Iteration {
    rows: Range<u64>,
    folds: Vec<Fold>,
}

/// One loop: its head, how far its body reaches, and its iterations so far.
#[derive(Debug)]
pub struct OpenLoop {
    pub head: RuntimeAddr,
    pub depth: u32,
    /// Where the last jump back to the head stands.
    pub end: RuntimeAddr,
    /// The first row of the loop, and of the iteration being run.
    first_row: u64,
    row: u64,
    /// The iteration being run.
    pub current: Stretch,
    run: Option<Run>,
    /// Of earlier runs: shapes in the order they first occurred, and folds.
    shapes: Vec<Vec<Token>>,
    folds: Vec<Fold>,
}

impl OpenLoop {
    /// A loop whose first iteration has just jumped back.
    pub fn new(head: RuntimeAddr, depth: u32, end: RuntimeAddr, first: Stretch, next_row: u64) -> Self {
        let first_row = first.tokens.first().map_or(next_row, |(_, row)| *row);
        let mut new = Self {
            head,
            depth,
            end,
            first_row,
            row: first_row,
            current: first,
            run: None,
            shapes: Vec::new(),
            folds: Vec::new(),
        };
        new.iterated(next_row);
        new
    }

    /// Whether a row at this place belongs to it.
    pub fn holds(&self, address: RuntimeAddr, depth: u32) -> bool {
        depth > self.depth || depth == self.depth && self.head <= address && address <= self.end
    }

    /// Ends an iteration; the next one begins with row `next_row`.
    pub fn iterated(&mut self, next_row: u64) {
        let Stretch { tokens, folds } = std::mem::take(&mut self.current);
        let shape: Vec<_> = tokens.into_iter().map(|(token, _)| token).collect();
        let iteration = Iteration { rows: self.row..next_row, folds };
        self.row = next_row;
        match &mut self.run {
            Some(run) if run.shape == shape => {
                run.count += 1;
                run.last = Some(iteration);
            }
            _ => {
                self.end_run();
                self.run = Some(Run { shape, count: 1, first: iteration, last: None });
            }
        }
    }

    fn end_run(&mut self) {
        let Some(Run { shape, count, first, last }) = self.run.take() else { return };
        self.folds.extend(first.folds);
        if let Some(last) = last {
            if count > 2 {
                let hidden = first.rows.end..last.rows.start;
                self.folds.push(Fold { hidden, left_out: count - 2, of: count });
            }
            self.folds.extend(last.folds);
        }
        if !self.shapes.contains(&shape) {
            self.shapes.push(shape);
        }
    }

    /// Ends the loop before row `next_row`. What has run since the last jump back is its last iteration where it looks
    /// like the others: a loop that is left at its end. Otherwise it is given back, as what follows the loop.
    pub fn close(mut self, next_row: u64) -> Closed {
        let complete = self.run.as_ref().is_some_and(|run| run.shape == self.current.shape());
        if complete {
            self.iterated(next_row);
        }
        self.end_run();
        Closed { first_row: self.first_row, shapes: self.shapes, folds: self.folds, rest: self.current }
    }
}

/// A loop that was left.
pub struct Closed {
    pub first_row: u64,
    pub shapes: Vec<Vec<Token>>,
    pub folds: Vec<Fold>,
    pub rest: Stretch,
}
