//! The file a trace goes to: the user's, or a memfd when only the listing is wanted.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process;

use nix::sys::memfd::{MFdFlags, memfd_create};

use crate::cli::exit::{Failure, OVERSTEP_FAILED};

/// An open trace file; `path` is the user's, absent for a memfd.
#[derive(Debug)]
pub struct Output {
    pub file: File,
    pub path: Option<PathBuf>,
    /// Where the file is until the program runs: nothing is left of it, or lost by it, if that does not come.
    provisional: Option<PathBuf>,
}

impl Output {
    /// Creates the file at `path` for a new trace of `program`, or a memfd without one. With `force`, what is there stays
    /// until [`Self::settle`].
    ///
    /// # Errors
    /// The file exists and `force` is not given, is none that can be mapped and seeked or the program itself, or cannot be
    /// created.
    pub fn create(path: Option<&Path>, force: bool, program: &Path) -> Result<Self, Failure> {
        let Some(path) = path else {
            let file =
                memfd_create(c"overstep-trace", MFdFlags::MFD_CLOEXEC).map(File::from).map_err(|errno| {
                    Failure::new(OVERSTEP_FAILED, format_args!("memfd_create: {errno}"))
                        .next("keep the trace in a file instead: `-o FILE.ostrace`")
                })?;
            return Ok(Self { file, path: None, provisional: None });
        };
        refuse_what_is_no_file(path)?;
        refuse_the_program(path, program)?;
        let replaces = force && path.symlink_metadata().is_ok();
        // Not written over: another run may have it mapped, and its program would die of SIGBUS.
        let provisional = if replaces { beside(path) } else { path.to_path_buf() };
        let file = new(&provisional).map_err(|error| cannot_create(path, &error))?;
        Ok(Self { file, path: Some(path.to_path_buf()), provisional: Some(provisional) })
    }

    /// The program runs: the file takes its place for good.
    ///
    /// # Errors
    /// What stood there could not be replaced.
    pub fn settle(&mut self) -> Result<(), Failure> {
        let (Some(path), Some(provisional)) = (&self.path, self.provisional.take()) else { return Ok(()) };
        if provisional == *path {
            return Ok(());
        }
        fs::rename(&provisional, path).map_err(|error| {
            let kept = provisional.display();
            Failure::new(OVERSTEP_FAILED, format_args!("cannot replace `{}`: {error}", path.display()))
                .next(format!("the trace is in `{kept}`: overstep list {kept}"))
        })
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Some(provisional) = &self.provisional {
            // Failing that, an empty file remains, which `list` explains.
            let _ = fs::remove_file(provisional);
        }
    }
}

fn new(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).open(path)
}

/// A name in the same directory, so that it can be renamed.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}", process::id()));
    path.with_file_name(name)
}

fn cannot_create(path: &Path, error: &io::Error) -> Failure {
    let path = path.display();
    if error.kind() == io::ErrorKind::AlreadyExists {
        return Failure::new(OVERSTEP_FAILED, format_args!("`{path}` exists already"))
            .next("pass --force to overwrite it, or name another file");
    }
    let next = match error.raw_os_error() {
        Some(libc::EMFILE | libc::ENFILE) => "raise the limit on open files: ulimit -n 64",
        _ => "name a file in a directory you may write to",
    };
    Failure::new(OVERSTEP_FAILED, format_args!("cannot create `{path}`: {error}")).next(next)
}

fn refuse_the_program(path: &Path, program: &Path) -> Result<(), Failure> {
    let (Ok(there), Ok(program)) = (fs::metadata(path), fs::metadata(program)) else { return Ok(()) };
    if (there.dev(), there.ino()) != (program.dev(), program.ino()) {
        return Ok(());
    }
    Err(Failure::new(
        OVERSTEP_FAILED,
        format_args!("`{}` is the program that is to be traced", path.display()),
    )
    .next("name another file: -o FILE.ostrace"))
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
