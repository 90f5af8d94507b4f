//! A loop that is being run.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::Range;

use super::alike::Alike;
use super::fold::{Fold, Inside, Like};
use super::stretch::{Inner, Paths, Stretch, Token};

/// An iteration that was run to its end.
#[derive(Debug)]
struct Iteration {
    rows: Range<u64>,
    path: u32,
    stretch: Stretch,
}

/// Iterations that are left out, those behind them not being known yet.
#[derive(Debug)]
struct Hidden {
    rows: Range<u64>,
    left_out: u64,
    /// Their path, if they have one.
    path: Option<u32>,
    /// Path of the iteration shown above them.
    above: Option<u32>,
    /// How many folds inside of shown iterations are before it.
    folds: usize,
    like: Like,
}

/// One loop and its iterations so far. The first by each path and the last are shown; those between are not kept.
#[derive(Debug)]
pub struct OpenLoop {
    /// Which one.
    pub number: u32,
    pub depth: u32,
    /// Its instruction that was run last.
    pub at: u32,
    /// First row of the iteration being run.
    row: u64,
    /// The iteration being run.
    pub current: Stretch,
    last: Option<Iteration>,
    /// What is known of each path, and the paths in the order in which they were first taken.
    alike: HashMap<u32, Alike>,
    order: Vec<u32>,
    /// Path of the iteration shown last.
    shown: Option<u32>,
    /// Folds inside of the iterations that are shown.
    folds: Vec<Fold>,
    hidden: Vec<Hidden>,
    /// Whether the last of `hidden` may grow.
    hiding: bool,
    rounds: u64,
    form: DefaultHasher,
    each: Option<u64>,
    unlike: bool,
    /// The iteration being run began before its first row here.
    partial: bool,
}

impl OpenLoop {
    /// The loop `number`, whose first iteration begins with `row`.
    pub fn new(number: u32, depth: u32, at: u32, row: u64) -> Self {
        Self {
            number,
            depth,
            at,
            row,
            current: Stretch::default(),
            last: None,
            alike: HashMap::new(),
            order: Vec::new(),
            shown: None,
            folds: Vec::new(),
            hidden: Vec::new(),
            hiding: false,
            rounds: 0,
            form: DefaultHasher::new(),
            each: None,
            unlike: false,
            partial: false,
        }
    }

    /// The same, its first iteration listed from its middle on.
    #[must_use]
    pub fn beginning(self, partial: bool) -> Self {
        Self { partial, ..self }
    }

    /// Ends an iteration; the next one begins with row `next_row`.
    pub fn iterated(&mut self, paths: &mut Paths, next_row: u64) {
        let stretch = std::mem::take(&mut self.current);
        if std::mem::take(&mut self.partial) {
            self.folds.extend(stretch.folds);
            self.row = next_row;
            return;
        }
        let path = paths.number(&stretch.tokens);
        let form = stretch.form(path);
        form.hash(&mut self.form);
        self.each = if self.rounds == 0 { Some(form) } else { self.each.filter(|each| *each == form) };
        self.rounds += 1;
        self.unlike |= stretch.has_unlike();
        let rows = self.row..next_row;
        self.row = next_row;
        if let Some(before) = self.last.replace(Iteration { rows, path, stretch }) {
            self.settle(before);
        }
    }

    /// Shows or hides an iteration that is not the last.
    fn settle(&mut self, Iteration { rows, path, stretch }: Iteration) {
        if let Some(alike) = self.alike.get_mut(&path) {
            alike.add(&stretch.inner);
            return self.hide(rows, path);
        }
        self.alike.insert(path, Alike::new(stretch.inner));
        self.order.push(path);
        self.show(path, stretch.folds);
    }

    fn hide(&mut self, rows: Range<u64>, path: u32) {
        match self.hidden.last_mut().filter(|_| self.hiding) {
            Some(hidden) => {
                hidden.rows.end = rows.end;
                hidden.left_out += 1;
                hidden.path = hidden.path.filter(|known| *known == path);
            }
            None => self.hidden.push(Hidden {
                rows,
                left_out: 1,
                path: Some(path),
                above: self.shown,
                folds: self.folds.len(),
                like: Like::Earlier,
            }),
        }
        self.hiding = true;
    }

    fn show(&mut self, path: u32, folds: Vec<Fold>) {
        if let Some(hidden) = self.hidden.last_mut().filter(|_| self.hiding) {
            hidden.like = match hidden.path {
                Some(one) if hidden.above == Some(one) && path == one => Like::AboveAndBelow,
                Some(one) if hidden.above == Some(one) => Like::Above,
                _ => Like::Earlier,
            };
        }
        self.hiding = false;
        self.shown = Some(path);
        self.folds.extend(folds);
    }

    /// Ends the loop before row `next_row`: with an iteration, where `complete` says so, and otherwise within one,
    /// which is given back as what follows the loop.
    pub fn close(mut self, complete: bool, paths: &mut Paths, next_row: u64) -> Closed {
        if complete {
            self.iterated(paths, next_row);
        }
        if let Some(Iteration { path, stretch, .. }) = self.last.take() {
            match self.alike.get_mut(&path) {
                Some(alike) => alike.add(&stretch.inner),
                None => {
                    self.alike.insert(path, Alike::new(stretch.inner));
                    self.order.push(path);
                }
            }
            self.show(path, stretch.folds);
        }
        let by_path = self.order.iter().map(|path| self.alike[path].count).collect();
        let unlike = self.unlike;
        let inside = self.inside();
        let inner = Inner { rounds: self.rounds, form: self.form.finish(), each: self.each };
        let folds = merged(self.folds, self.hidden, by_path, inside);
        let token = (!unlike).then_some(Token::Loop(self.number, self.depth));
        Closed { token, inner, folds, rest: self.current }
    }

    fn inside(&self) -> Inside {
        let mut all = self.order.iter().map(|path| self.alike[path].inside());
        if self.order.len() == 1 {
            return all.next().unwrap_or(Inside::Same);
        }
        all.fold(Inside::Same, |all, one| match (all, one) {
            (Inside::Paths(_), _) | (_, Inside::Paths(_)) => Inside::Paths(Vec::new()),
            (Inside::Rounds(_), _) | (_, Inside::Rounds(_)) => Inside::Rounds(Vec::new()),
            (Inside::Same, Inside::Same) => Inside::Same,
        })
    }
}

/// Folds of a loop and folds inside of it, in the order of their rows.
fn merged(inside: Vec<Fold>, hidden: Vec<Hidden>, by_path: Vec<u64>, differ: Inside) -> Vec<Fold> {
    let mut folds = Vec::with_capacity(inside.len() + hidden.len());
    let mut inside = inside.into_iter().enumerate().peekable();
    for Hidden { rows, left_out, folds: before, like, .. } in hidden {
        while let Some((_, fold)) = inside.next_if(|(index, _)| *index < before) {
            folds.push(fold);
        }
        let (by_path, inside) = (by_path.clone(), differ.clone());
        folds.push(Fold { hidden: rows, left_out, by_path, inside, like });
    }
    folds.extend(inside.map(|(_, fold)| fold));
    folds
}

/// A loop that was left.
pub struct Closed {
    /// What it is to the iteration around it; nothing is like it if none.
    pub token: Option<Token>,
    pub inner: Inner,
    pub folds: Vec<Fold>,
    pub rest: Stretch,
}
