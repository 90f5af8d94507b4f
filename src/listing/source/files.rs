//! The text of source files, read when a line of it is asked for.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::SystemTime;
use std::{fs, io};

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

/// The lines of each file; a file that cannot be read, or is another one than was compiled, is said once.
#[derive(Debug, Default)]
pub struct Files {
    texts: RefCell<HashMap<Rc<Path>, Option<Lines>>>,
    unreadable: RefCell<Vec<String>>,
    doubtful: RefCell<Vec<String>>,
    doubted: RefCell<BTreeSet<Rc<Path>>>,
    /// When the program with its code was written; not of files that someone has put elsewhere, whose times say nothing.
    pub(super) compiled: HashMap<Rc<Path>, SystemTime>,
}

impl Files {
    /// The lines of the file, without line ends; `None` where it cannot be read.
    pub fn lines(&self, path: &Rc<Path>) -> Option<Lines> {
        let mut texts = self.texts.borrow_mut();
        texts.entry(Rc::clone(path)).or_insert_with(|| self.read(path)).clone()
    }

    fn read(&self, path: &Path) -> Option<Lines> {
        match regular(path) {
            Ok((bytes, written)) => {
                let compiled = self.compiled.get(path);
                if compiled.zip(written).is_some_and(|(compiled, written)| written > *compiled) {
                    self.doubt(path, "is newer than the program; its lines may be others than were compiled");
                }
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

    /// That the file cannot be the one that was compiled: its code comes from a line that it has not.
    pub fn too_short(&self, path: &Path, line: u32, lines: usize) {
        self.doubt(
            path,
            &format!("has {lines} lines and the program one from line {line}; it was changed since"),
        );
    }

    fn doubt(&self, path: &Path, why: &str) {
        if self.doubted.borrow_mut().insert(path.into()) {
            self.doubtful.borrow_mut().push(format!("source file `{}` {why}", path.display()));
        }
    }

    /// What could not be read so far, in words.
    pub fn unreadable(&self) -> Vec<String> {
        self.unreadable.borrow().clone()
    }

    /// Which files are other ones than were compiled, as far as that shows, in words.
    pub fn doubtful(&self) -> Vec<String> {
        self.doubtful.borrow().clone()
    }
}

/// What is in a regular file, and when it was written: to open a FIFO would wait for its writer.
fn regular(path: &Path) -> io::Result<(Vec<u8>, Option<SystemTime>)> {
    let about = fs::metadata(path)?;
    if !about.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no regular file"));
    }
    Ok((fs::read(path)?, about.modified().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_fifo_is_not_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let path: Rc<Path> = directory.path().join("a.c").into();
        nix::unistd::mkfifo(&*path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let files = Files::default();
        assert!(files.lines(&path).is_none());
        assert_eq!(files.unreadable(), [format!("source file `{}`: no regular file", path.display())]);
    }

    #[test]
    fn a_file_that_was_changed_since_is_doubted_once() {
        let directory = tempfile::tempdir().unwrap();
        let path: Rc<Path> = directory.path().join("a.c").into();
        fs::write(&path, "int a;\n").unwrap();
        let written = fs::metadata(&path).unwrap().modified().unwrap();
        let compiled_at = |time| Files { compiled: [(Rc::clone(&path), time)].into(), ..Files::default() };
        let (older, newer) =
            (compiled_at(written - Duration::from_secs(9)), compiled_at(written + Duration::from_secs(9)));
        assert!(older.lines(&path).is_some() && newer.lines(&path).is_some());
        assert!(
            older.doubtful()[0]
                .ends_with("is newer than the program; its lines may be others than were compiled")
        );
        older.too_short(&path, 7, 1);
        assert_eq!(older.doubtful().len(), 1);
        assert!(newer.doubtful().is_empty());
        newer.too_short(&path, 7, 1);
        newer.too_short(&path, 8, 1);
        let words = format!(
            "source file `{}` has 1 lines and the program one from line 7; it was changed since",
            path.display()
        );
        assert_eq!(newer.doubtful(), [words]);
    }
}
