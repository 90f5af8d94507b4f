//! Report files: opened before anything is measured, so that a minute's work is not lost to a typing error.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::cli::exit::{Failure, USAGE};

/// A file that a report will be written to.
pub struct Output {
    path: PathBuf,
    file: File,
}

impl Output {
    /// Opens `path`, leaving what it holds until there is something to put there.
    ///
    /// # Errors
    /// The path and the system's reason.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path);
        let file = file.map_err(|error| failure(path, &error))?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// Replaces what the file held by what `write` writes.
    ///
    /// # Errors
    /// The path and the system's reason.
    pub fn write(self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
        let Self { path, file } = self;
        // A device or a pipe has no length to set.
        let emptied = if file.metadata().is_ok_and(|it| it.is_file()) { file.set_len(0) } else { Ok(()) };
        let mut out = BufWriter::new(file);
        emptied
            .and_then(|()| write(&mut out))
            .and_then(|()| out.flush())
            .map_err(|error| failure(&path, &error))
    }
}

fn failure(path: &Path, error: &io::Error) -> Failure {
    Failure::new(USAGE, format_args!("cannot write the report to {}: {error}", path.display()))
        .next("name a file in a directory that exists and that you may write to")
}
