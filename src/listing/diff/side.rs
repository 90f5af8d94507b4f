//! One of the two traces, read ahead as far as it must be.

use std::collections::VecDeque;

use super::item::Item;
use crate::listing::options::{Options, Values};
use crate::listing::rows::Rows;
use crate::record::reader::Trace;

/// A trace's items, in order.
pub struct Side<'t> {
    rows: Rows<'t>,
    ahead: VecDeque<Item>,
}

impl<'t> Side<'t> {
    #[must_use]
    pub fn new(trace: &'t Trace) -> Self {
        let options = Options { values: Values::Stable, ..Options::default() };
        Self { rows: Rows::new(trace, &options), ahead: VecDeque::new() }
    }

    pub fn next(&mut self) -> Option<Item> {
        self.ahead.pop_front().or_else(|| self.rows.next().map(Item))
    }

    /// Up to `most` items that come next.
    pub fn look_ahead(&mut self, most: usize) -> &VecDeque<Item> {
        while self.ahead.len() < most {
            let Some(row) = self.rows.next() else { break };
            self.ahead.push_back(Item(row));
        }
        &self.ahead
    }

    /// After [`Side::next`] gave `first`: goes on `passed` items behind the place before it.
    pub fn rewind(&mut self, first: Option<Item>, passed: usize) {
        if let Some(first) = first {
            self.ahead.push_front(first);
        }
        self.ahead.drain(..passed.min(self.ahead.len()));
    }

    /// Reads to the end; how many steps there were.
    pub fn drain(&mut self) -> u64 {
        std::iter::from_fn(|| self.next()).filter(Item::is_step).count() as u64
    }
}
