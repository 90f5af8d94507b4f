//! Source lines by address.

use std::path::Path;
use std::rc::Rc;

use super::files::Files;
use super::{Frame, Location};
use crate::address::RuntimeAddr;

/// Where the executed code of a trace comes from, as far as its files say.
#[derive(Debug, Default)]
pub struct Sources {
    pub(super) locations: Vec<Ranged>,
    pub(super) files: Files,
    /// Why there are no lines for some code, a sentence for each module.
    pub(super) missing: Vec<String>,
}

/// Unreadable files that are named one by one.
const NAMED: usize = 3;

/// Code that comes from one line.
#[derive(Debug)]
pub(super) struct Ranged {
    pub start: RuntimeAddr,
    pub end: RuntimeAddr,
    pub location: Rc<Location>,
}

impl Sources {
    /// The lines that the instruction at `address` comes from.
    #[must_use]
    pub fn at(&self, address: RuntimeAddr) -> Option<Rc<Location>> {
        let after = self.locations.partition_point(|it| it.start <= address);
        let found = self.locations[..after].last().filter(|it| address < it.end)?;
        Some(Rc::clone(&found.location))
    }

    /// The text of the line, without the space around it; `None` where the file cannot be read or is shorter.
    #[must_use]
    pub fn text(&self, frame: &Frame) -> Option<String> {
        let lines = self.files.lines(&frame.path)?;
        let index = (frame.line as usize).checked_sub(1)?;
        if index >= lines.len() {
            self.files.too_short(&frame.path, frame.line, lines.len());
        }
        let line = lines.get(index)?;
        Some(line.trim().to_owned())
    }

    /// All lines of the file that the frame is in.
    #[must_use]
    pub fn whole_file(&self, path: &Rc<Path>) -> Option<Rc<Vec<String>>> {
        self.files.lines(path)
    }

    /// What is missing, a sentence each; complete once everything was listed.
    #[must_use]
    pub fn notices(&self) -> Vec<String> {
        let mut notices = self.missing.clone();
        let unreadable = self.files.unreadable();
        notices.extend(unreadable.iter().take(NAMED).map(|what| {
            format!("{what}; its lines are named without their text (--remap FROM=TO finds it elsewhere)")
        }));
        if let more @ 1.. = unreadable.len().saturating_sub(NAMED) {
            notices.push(format!("{more} more source files cannot be read"));
        }
        let doubtful = self.files.doubtful();
        notices.extend(doubtful.iter().take(NAMED).cloned());
        if let more @ 1.. = doubtful.len().saturating_sub(NAMED) {
            notices.push(format!("{more} more source files are other ones than were compiled"));
        }
        notices
    }
}
