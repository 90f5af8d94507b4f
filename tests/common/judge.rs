//! Compares runs, with as many runs of the reference as it takes to name what varies by itself.

use std::path::Path;
use std::process::Command;

use super::compare::{Agreement, Difference, compare};
use super::program::Program;
use super::run::{Traced, traced};
use super::way::{REFERENCE, Way};

/// Runs of the reference before a value that only differs elsewhere counts as a difference. What comes from
/// AT_RANDOM may be alike in two runs by chance (one flag, one time in two), but hardly in eight.
const RUNS: usize = 8;
/// Runs in the other way before the same: what it has once and not again varies by itself, too, and the references had it
/// alike by chance. (A loader's `xsavec` leaves memory as it was where a component is in its initial state.)
const OTHER_RUNS: usize = 3;

/// Runs in the reference way: the first, and further ones that tell what varies between two runs of the same engine:
/// the stack protector's canary, malloc's tcache key and the pointer guard, all from AT_RANDOM or getrandom(2), and
/// what clocks and the kernel say.
pub struct References<'a> {
    program: &'a Program,
    options: &'a [&'a str],
    directory: &'a Path,
    runs: Vec<Traced>,
}

impl<'a> References<'a> {
    /// Two runs.
    pub fn new(program: &'a Program, options: &'a [&'a str], directory: &'a Path) -> Self {
        let mut references = Self { program, options, directory, runs: Vec::new() };
        references.again();
        references.again();
        references
    }

    pub fn first(&self) -> &Traced {
        &self.runs[0]
    }

    fn again(&mut self) {
        // A run takes as many process ids as the one before. One in between, and what depends on their lowest bit varies.
        if self.runs.len() % 2 == 1 {
            let _ = Command::new("true").status();
        }
        self.runs.push(traced(self.program, self.options, REFERENCE, self.directory));
    }

    /// Traces in another `way` and compares; the run, and what it had in common with the references.
    ///
    /// # Errors
    /// The first difference that further runs of the reference do not explain.
    pub fn against(&mut self, way: Way) -> Result<(Traced, Agreement), Difference> {
        let mut run = traced(self.program, self.options, way, self.directory);
        let mut runs = 1;
        loop {
            let references: Vec<_> = self.runs.iter().map(|run| &run.trace).collect();
            match compare(&references, &run.trace, way.blocks) {
                Ok(agreement) => return Ok((run, agreement)),
                Err(Difference::Value(_)) if self.runs.len() < RUNS => self.again(),
                Err(Difference::Value(value)) if runs < OTHER_RUNS => {
                    println!("{} once more: {value}", way.name);
                    run = traced(self.program, self.options, way, self.directory);
                    runs += 1;
                }
                Err(difference) => return Err(difference),
            }
        }
    }
}
