//! Where an instruction comes from.

use std::path::Path;
use std::rc::Rc;

/// A line of the source, and the function that it is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Demangled, where the debug information names it.
    pub function: Option<Rc<str>>,
    /// Where the text is read.
    pub path: Rc<Path>,
    /// How the file is called in a listing.
    pub file: Rc<str>,
    /// From 1.
    pub line: u32,
}

/// The line of an instruction, then the calls that were inlined around it, outward; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    pub frames: Box<[Frame]>,
}

impl Frame {
    /// `gcd.c:7`.
    #[must_use]
    pub fn file_line(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }
}

impl Location {
    /// The line itself.
    #[must_use]
    pub fn innermost(&self) -> Option<&Frame> {
        self.frames.first()
    }

    /// What `self` adds to a reader who stands at `previous`: frames from the first one that differs inward, the
    /// outermost first, each with how deep it is inlined.
    pub fn news<'a>(&'a self, previous: Option<&Self>) -> impl Iterator<Item = (usize, &'a Frame)> + use<'a> {
        let outward = || self.frames.iter().rev();
        let same = previous.map_or(0, |previous| {
            previous.frames.iter().rev().zip(outward()).take_while(|(a, b)| a == b).count()
        });
        // A loop that comes back to its head repeats an outer line: that is news, too.
        let skipped = same.min(self.frames.len() - 1);
        outward().enumerate().skip(skipped)
    }
}
