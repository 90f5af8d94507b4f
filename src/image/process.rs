//! A process as `/proc` shows it: its maps, its memory, and the files it has mapped.

use super::elf::Elf;
use super::elf_error::ElfError;
use super::maps::{self, Backing, Mapping, MapsError};
use crate::address::RuntimeAddr;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Why a mapped file's ELF image is not at hand.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    #[error(transparent)]
    Elf(#[from] ElfError),
    #[error("{} was deleted after it was mapped; its symbols are gone with it", .0.display())]
    Deleted(PathBuf),
    #[error("{} is another file now than the one that is mapped; run the program anew", .0.display())]
    Replaced(PathBuf),
    #[error("cannot read {what} of the process: {source}")]
    Memory { what: String, source: io::Error },
    #[error(transparent)]
    Maps(#[from] MapsError),
}

/// One process, looked at from outside or, as `self`, from inside.
#[derive(Clone, Debug)]
pub struct Process {
    directory: PathBuf,
}

impl Process {
    /// The calling process.
    #[must_use]
    pub fn own() -> Self {
        Self { directory: PathBuf::from("/proc/self") }
    }

    #[must_use]
    pub fn of(pid: u32) -> Self {
        Self { directory: PathBuf::from(format!("/proc/{pid}")) }
    }

    /// Every mapping, by address.
    ///
    /// # Errors
    /// [`ImageError::Memory`] when the file cannot be read, [`ImageError::Maps`] when it is not understood.
    pub fn maps(&self) -> Result<Vec<Mapping>, ImageError> {
        let contents = std::fs::read(self.directory.join("maps"))
            .map_err(|source| ImageError::Memory { what: "the maps".into(), source })?;
        Ok(maps::parse(&contents)?)
    }

    /// Fills `into` from the process's memory.
    ///
    /// # Errors
    /// [`ImageError::Memory`].
    pub fn read(&self, at: RuntimeAddr, into: &mut [u8]) -> Result<(), ImageError> {
        let read = || File::open(self.directory.join("mem"))?.read_exact_at(into, at.0);
        let mut read = read;
        read().map_err(|source| ImageError::Memory { what: format!("{} bytes at {at}", into.len()), source })
    }

    /// The ELF file behind `mapping`; of a mapping without a file, its memory.
    ///
    /// # Errors
    /// [`ImageError`]; a file that has taken the mapped one's place is never parsed.
    pub fn elf(&self, mapping: &Mapping) -> Result<Elf, ImageError> {
        let Backing::File { path, deleted } = &mapping.backing else {
            let mut bytes = vec![0; mapping.range.end.since(mapping.range.start) as usize];
            self.read(mapping.range.start, &mut bytes)?;
            return Ok(Elf::from_bytes(bytes)?);
        };
        if let Some(exe) = self.executable(mapping) {
            return Ok(Elf::from_file(&exe, path)?);
        }
        if *deleted {
            return Err(ImageError::Deleted(path.clone()));
        }
        let failed = |source| ElfError::Open { path: path.clone(), source };
        let file = File::open(path).map_err(failed)?;
        if !is_same(&file, mapping).map_err(failed)? && !self.holds_the_bytes_of(&file, mapping) {
            return Err(ImageError::Replaced(path.clone()));
        }
        Ok(Elf::from_file(&file, path)?)
    }

    /// The program itself, if `mapping` is of it: `exe` leads to the file even when its path is gone.
    fn executable(&self, mapping: &Mapping) -> Option<File> {
        let exe = self.directory.join("exe");
        let target = std::fs::read_link(&exe).ok()?;
        let target = target.to_str()?;
        let target = Path::new(target.strip_suffix(" (deleted)").unwrap_or(target));
        let Backing::File { path, .. } = &mapping.backing else { return None };
        let file = File::open(&exe).ok().filter(|_| path == target)?;
        let same_inode = file.metadata().is_ok_and(|m| m.ino() == mapping.file.inode);
        (same_inode || self.holds_the_bytes_of(&file, mapping)).then_some(file)
    }

    /// Whether the mapping's first page equals the file's. Decides where device and inode cannot, because the
    /// file system reports others through `stat` than through the maps.
    fn holds_the_bytes_of(&self, file: &File, mapping: &Mapping) -> bool {
        let length = mapping.range.end.since(mapping.range.start).min(4096) as usize;
        let (mut mapped, mut stored) = (vec![0; length], vec![0; length]);
        let Ok(size) = file.read_at(&mut stored, mapping.offset.0) else { return false };
        self.read(mapping.range.start, &mut mapped).is_ok() && size > 0 && mapped[..size] == stored[..size]
    }
}

/// Whether device and inode are those of the mapping.
fn is_same(file: &File, mapping: &Mapping) -> io::Result<bool> {
    let data = file.metadata()?;
    let (major, minor) = (libc::major(data.dev()), libc::minor(data.dev()));
    let id = maps::FileId { major, minor, inode: data.ino() };
    Ok(id == mapping.file)
}
