//! The file a trace goes to: the user's, or a memfd when only the listing is wanted.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use nix::sys::memfd::{MFdFlags, memfd_create};

use crate::cli::exit::{Failure, OVERSTEP_FAILED};

/// An open trace file; `path` is the user's, absent for a memfd.
#[derive(Debug)]
pub struct Output {
    pub file: File,
    pub path: Option<PathBuf>,
}

impl Output {
    /// Creates the file at `path` for a new trace, or a memfd without one.
    ///
    /// # Errors
    /// The file exists and `force` is not given, is none that can be mapped and seeked, or cannot be created.
    pub fn create(path: Option<&Path>, force: bool) -> Result<Self, Failure> {
        let file = match path {
            Some(path) => named(path, force)?,
            None => {
                memfd_create(c"overstep-trace", MFdFlags::MFD_CLOEXEC).map(File::from).map_err(|errno| {
                    Failure::new(OVERSTEP_FAILED, format_args!("memfd_create: {errno}"))
                        .next("keep the trace in a file instead: `-o FILE.ostrace`")
                })?
            }
        };
        Ok(Self { file, path: path.map(Path::to_path_buf) })
    }

    /// Takes the file away again: the program was not started, and there is nothing in it.
    pub fn discard(self) {
        if let Some(path) = self.path {
            // Failing that, an empty file remains, which `list` explains.
            let _ = fs::remove_file(path);
        }
    }
}

fn named(path: &Path, force: bool) -> Result<File, Failure> {
    refuse_what_is_no_file(path)?;
    if force {
        // Not truncated: another run may have it mapped, and its program would die of SIGBUS. What cannot be
        // removed is reported by the attempt to create it.
        let _ = fs::remove_file(path);
    }
    OpenOptions::new().read(true).write(true).create_new(true).open(path).map_err(|error| {
        match error.kind() {
            io::ErrorKind::AlreadyExists => {
                Failure::new(OVERSTEP_FAILED, format_args!("`{}` exists already", path.display()))
                    .next("pass --force to overwrite it, or name another file")
            }
            _ => Failure::new(OVERSTEP_FAILED, format_args!("cannot create `{}`: {error}", path.display()))
                .next("name a file in a directory you may write to"),
        }
    })
}

/// Pipes, terminals and devices cannot hold a trace: its writer maps the file and its reader seeks.
fn refuse_what_is_no_file(path: &Path) -> Result<(), Failure> {
    let Ok(metadata) = fs::metadata(path) else { return Ok(()) };
    let kind = metadata.file_type();
    let what = match () {
        () if kind.is_file() => return Ok(()),
        () if kind.is_dir() => "a directory",
        () if kind.is_fifo() => "a pipe",
        () if kind.is_socket() => "a socket",
        () => "a device",
    };
    Err(Failure::new(OVERSTEP_FAILED, format_args!("`{}` is {what}: a trace needs a file", path.display()))
        .next("name a regular file; without -o the listing goes to standard output"))
}
