//! Goes through an execution whose loops are known, iteration by iteration.

use super::execution::{Event, Execution, Place};
use super::fold::Fold;
use super::nesting::Nesting;
use super::open_loop::OpenLoop;
use super::stretch::{Paths, Stretch, Token};

/// What a call's rows have come to.
struct Walk<'e> {
    nesting: &'e Nesting,
    paths: Paths,
    /// Outside every loop.
    base: Stretch,
    /// The innermost last.
    open: Vec<OpenLoop>,
    unlike: u32,
    /// The rows before this one are not listed.
    resumes: bool,
}

/// The folds of a call, by their first row.
pub fn folds(execution: &Execution) -> Vec<Fold> {
    let nesting = execution.nesting();
    if nesting.loops.is_empty() {
        return Vec::new();
    }
    let mut walk = Walk {
        nesting: &nesting,
        paths: Paths::default(),
        base: Stretch::default(),
        open: Vec::new(),
        unlike: 0,
        resumes: false,
    };
    let mut jumps = execution.jumps.iter().peekable();
    let (mut row, mut begins) = (0, false);
    for (index, event) in execution.events.iter().enumerate() {
        match *event {
            Event::Step(place) => {
                let jump = jumps.next_if(|(at, _)| *at == index);
                row = jump.map_or(row + 1, |(_, row)| *row);
                walk.resumes = jump.is_some();
                walk.step(place, execution.places[place as usize], row, begins);
                begins = false;
            }
            Event::Native(instruction) => walk.push(Token::Native(instruction)),
            Event::Unlike => walk.push_unlike(),
            Event::NewFrame => begins = true,
        }
    }
    while !walk.open.is_empty() {
        walk.close_innermost(row + 1);
    }
    walk.base.folds
}

impl Walk<'_> {
    fn step(&mut self, number: u32, Place { instruction, depth }: Place, row: u64, new_frame: bool) {
        while let Some(innermost) = self.open.last() {
            let same_frame = depth == innermost.depth && !new_frame;
            if depth > innermost.depth || same_frame && self.nesting.holds(innermost.number, instruction) {
                break;
            }
            self.close_innermost(row);
        }
        if let Some(innermost) = self.open.last_mut().filter(|innermost| innermost.depth == depth) {
            innermost.at = instruction;
            if self.nesting.loops[innermost.number as usize].header == instruction {
                innermost.iterated(&mut self.paths, row);
            }
        }
        let known = self.open.last().filter(|innermost| innermost.depth == depth).map(|it| it.number);
        let entered: Vec<_> =
            self.nesting.around(instruction).take_while(|number| Some(*number) != known).collect();
        for number in entered.into_iter().rev() {
            // What is listed from its middle on is no iteration.
            let partial = self.resumes && self.nesting.loops[number as usize].header != instruction;
            self.open.push(OpenLoop::new(number, depth, instruction, row).beginning(partial));
        }
        self.push(Token::Step(number));
    }

    fn push(&mut self, token: Token) {
        self.innermost().tokens.push(token);
    }

    fn push_unlike(&mut self) {
        self.unlike += 1;
        self.push(Token::Unlike(self.unlike));
    }

    /// What is being run inside the innermost loop.
    fn innermost(&mut self) -> &mut Stretch {
        self.open.last_mut().map_or(&mut self.base, |innermost| &mut innermost.current)
    }

    fn close_innermost(&mut self, next_row: u64) {
        let Some(innermost) = self.open.pop() else { return };
        let complete = self.nesting.ends_iteration(innermost.number, innermost.at);
        let closed = innermost.close(complete, &mut self.paths, next_row);
        match closed.token {
            Some(token) => self.push(token),
            None => self.push_unlike(),
        }
        let around = self.innermost();
        around.inner.push(closed.inner);
        around.folds.extend(closed.folds);
        around.append(closed.rest);
    }
}
