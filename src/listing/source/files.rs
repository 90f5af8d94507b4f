//! The text of source files, read when a line of it is asked for.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// A folder of the machine that compiled, and where its files are now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remap {
    pub from: PathBuf,
    pub to: PathBuf,
}

impl Remap {
    /// The path with its beginning replaced, where it begins so.
    #[must_use]
    pub fn apply(&self, path: &Path) -> Option<PathBuf> {
        path.strip_prefix(&self.from).ok().map(|rest| self.to.join(rest))
    }
}

/// The lines of one file.
pub type Lines = Rc<Vec<String>>;

/// The lines of each file; a file that cannot be read is said once.
#[derive(Debug, Default)]
pub struct Files {
    texts: RefCell<HashMap<Rc<Path>, Option<Lines>>>,
    unreadable: RefCell<Vec<String>>,
}

impl Files {
    /// The lines of the file, without line ends; `None` where it cannot be read.
    pub fn lines(&self, path: &Rc<Path>) -> Option<Lines> {
        let mut texts = self.texts.borrow_mut();
        texts.entry(Rc::clone(path)).or_insert_with(|| self.read(path)).clone()
    }

    fn read(&self, path: &Path) -> Option<Lines> {
        match fs::read(path) {
            Ok(bytes) => {
                let text = String::from_utf8_lossy(&bytes);
                Some(Rc::new(text.lines().map(crate::listing::visible::tabs).collect()))
            }
            Err(error) => {
                let reason = error.to_string();
                let reason = reason.split(" (os error").next().unwrap_or_default();
                self.unreadable.borrow_mut().push(format!("source file `{}`: {reason}", path.display()));
                None
            }
        }
    }

    /// What could not be read so far, in words.
    pub fn unreadable(&self) -> Vec<String> {
        self.unreadable.borrow().clone()
    }
}
