//! The source lines that stand above a run of rows.

use std::rc::Rc;

use super::line::Line;
use super::options::Options;
use super::palette::Palette;
use super::rows::StepRow;
use super::source::{Frame, Location, Sources};

/// Says each source line when a listing comes to it, and not again until it has left it.
pub struct SourceHeadings {
    source: Option<Rc<Sources>>,
    palette: Palette,
    current: Option<Rc<Location>>,
    line: Line,
}

/// One source line that a listing has come to.
pub struct Heading<'a> {
    pub frame: &'a Frame,
    /// How many inlined calls it lies in.
    pub inlined: usize,
    pub text: Option<String>,
}

impl Heading<'_> {
    /// `gcd.c:7`, behind the name of an inlined function.
    #[must_use]
    pub fn place(&self) -> String {
        let place = self.frame.file_line();
        match self.frame.function.as_deref().filter(|_| self.inlined > 0) {
            Some(function) => format!("{}└ {function} {place}", "  ".repeat(self.inlined - 1)),
            None => place,
        }
    }
}

impl SourceHeadings {
    #[must_use]
    pub fn new(options: &Options) -> Self {
        Self {
            source: options.source.clone(),
            palette: options.palette,
            current: None,
            line: Line::default(),
        }
    }

    /// Begins anew: with another call.
    pub fn forget(&mut self) {
        self.current = None;
    }

    /// What is to be said above the row.
    pub fn news<'r>(&mut self, row: &'r StepRow) -> Vec<Heading<'r>> {
        let Some(source) = &self.source else { return Vec::new() };
        let location = row.code.source.as_ref();
        let here = |known: &Rc<Location>| location.is_some_and(|it| Rc::ptr_eq(it, known) || *it == *known);
        if self.current.as_ref().is_some_and(here) {
            return Vec::new();
        }
        let previous = std::mem::replace(&mut self.current, location.cloned());
        let news = location.into_iter().flat_map(|location| location.news(previous.as_deref()));
        news.map(|(inlined, frame)| Heading { frame, inlined, text: source.text(frame) }).collect()
    }

    /// The same as lines of text that begin at `column`.
    pub fn above(&mut self, row: &StepRow, column: usize) -> &str {
        self.line.clear();
        if self.source.is_some() {
            for heading in self.news(row) {
                let Palette { marker, end, .. } = self.palette;
                self.line.spaces(column).style(marker).push(&heading.place()).style(end);
                if let Some(text) = &heading.text {
                    self.line.spaces(2).push(text);
                }
                self.line.feed();
            }
        }
        self.line.as_str()
    }
}
