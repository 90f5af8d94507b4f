//! Which rows of a trace a listing leaves out because they repeat the ones before.

use std::collections::HashMap;

use super::execution::{Execution, Graph};
use super::fold::Fold;
use super::walk;
use crate::listing::rows::{Occasion, Row};

/// The folds of every call.
#[derive(Debug, Default)]
pub struct Folds {
    by_call: HashMap<u64, Vec<Fold>>,
    /// The call being read.
    open: Option<(u64, Execution)>,
    /// Of calls of which a part is listed, their loops.
    graphs: HashMap<u64, Graph>,
}

impl Folds {
    /// What can be folded of the rows of a listing, call by call. Holds a call's instructions in a few bytes each while
    /// it is read, and afterwards the folds alone.
    #[must_use]
    pub fn of(rows: impl Iterator<Item = Row>) -> Self {
        let mut folds = Self::default();
        rows.for_each(|row| folds.follow(&row));
        folds.finish();
        folds
    }

    /// The same of `part` of the rows, whose loops are those of `whole` calls: a part need not come to a loop's beginning.
    #[must_use]
    pub fn of_part(part: impl Iterator<Item = Row>, whole: impl Iterator<Item = Row>) -> Self {
        let mut folds = Self::default();
        let mut open: Option<(u64, Execution)> = None;
        for row in whole {
            if open.as_ref().is_none_or(|(known, _)| *known != row.call()) {
                folds.graphs.extend(open.take().map(|(call, execution)| (call, execution.into_graph())));
            }
            let (_, execution) = open.get_or_insert_with(|| (row.call(), Execution::for_loops()));
            follow(execution, &row);
        }
        folds.graphs.extend(open.map(|(call, execution)| (call, execution.into_graph())));
        part.for_each(|row| folds.follow(&row));
        folds.finish();
        folds
    }

    /// Follows a listed row.
    pub fn follow(&mut self, row: &Row) {
        let call = row.call();
        if self.open.as_ref().is_none_or(|(known, _)| *known != call) {
            self.finish();
        }
        let graphs = &mut self.graphs;
        let (_, execution) = self.open.get_or_insert_with(|| {
            (call, graphs.remove(&call).map_or_else(Execution::default, Execution::part_of))
        });
        follow(execution, row);
    }

    /// Ends the last call.
    pub fn finish(&mut self) {
        let Some((call, execution)) = self.open.take() else { return };
        let found = walk::folds(&execution);
        if !found.is_empty() {
            self.by_call.insert(call, found);
        }
    }

    /// Every call that has some.
    pub fn calls(&self) -> impl Iterator<Item = (u64, &[Fold])> {
        self.by_call.iter().map(|(call, folds)| (*call, folds.as_slice()))
    }

    /// The folds of one call, by their first row.
    #[must_use]
    pub fn of_call(&self, call: u64) -> &[Fold] {
        self.by_call.get(&call).map_or(&[], Vec::as_slice)
    }
}

fn follow(execution: &mut Execution, row: &Row) {
    match row {
        Row::Step(row) => execution.step(&row.entry),
        Row::Marker(row) => {
            if let Occasion::Recorded(marker) = &row.occasion {
                execution.marker(marker);
            }
        }
        Row::Fold(_) => {}
    }
}
