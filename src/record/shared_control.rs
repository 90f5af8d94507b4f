//! Creates and maps the control block. Cold: before the program starts, and in the agent's constructor.

#![allow(unsafe_code, reason = "the block is a view of mapped memory")]

use std::fs::File;
use std::io;
use std::mem::offset_of;
use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd};

use memmap2::{MmapOptions, MmapRaw};
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};

use super::control::Settings;
use super::control_block::{ControlBlock, MAGIC, PATTERN_AREA, VERSION};
use super::settings_image::SettingsImage;

/// A mapped control block and the memfd behind it.
#[derive(Debug)]
pub struct SharedControl {
    file: File,
    map: MmapRaw,
}

impl SharedControl {
    /// A new block. Close-on-exec: armed processes open it through `/proc/<parent>/fd`.
    ///
    /// # Errors
    /// `InvalidInput` when the patterns do not fit, otherwise what memfd_create(2), ftruncate(2), fcntl(2) or
    /// mmap(2) said.
    pub fn create(settings: &Settings, patterns: &[String]) -> io::Result<Self> {
        let text = pattern_text(patterns)?;
        let file = File::from(memfd_create(
            "overstep-control",
            MFdFlags::MFD_ALLOW_SEALING | MFdFlags::MFD_CLOEXEC,
        )?);
        file.set_len(size_of::<ControlBlock>() as u64)?;
        // Nobody can cut it under a mapping any more, which would be SIGBUS.
        let seals = SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SEAL;
        fcntl(&file, FcntlArg::F_ADD_SEALS(seals))?;
        let map = MmapOptions::new().len(size_of::<ControlBlock>()).map_raw(&file)?;
        let base = map.as_mut_ptr();
        let parent = std::process::id().to_ne_bytes();
        let image = SettingsImage::from(settings);
        // SAFETY:
        // - the mapping is as long as the block, page-aligned and not shared with anyone yet;
        // - a zeroed block is valid: numbers, bytes and atomics.
        unsafe {
            copy(base, offset_of!(ControlBlock, magic), &MAGIC);
            copy(base, offset_of!(ControlBlock, version), &VERSION.to_ne_bytes());
            copy(base, offset_of!(ControlBlock, size), &(size_of::<ControlBlock>() as u32).to_ne_bytes());
            base.add(offset_of!(ControlBlock, settings)).cast::<SettingsImage>().write(image);
            copy(base, offset_of!(ControlBlock, parent), &parent);
            copy(base, offset_of!(ControlBlock, pattern_length), &(text.len() as u32).to_ne_bytes());
            copy(base, offset_of!(ControlBlock, patterns), &text);
        }
        Ok(Self { file, map })
    }

    /// The block behind another process's descriptor, which was opened through `/proc/<pid>/fd`.
    ///
    /// # Errors
    /// `InvalidData` when it is none or another version's; otherwise what the system calls said.
    pub fn map(fd: BorrowedFd<'_>) -> io::Result<Self> {
        let file = File::from(fd.try_clone_to_owned()?);
        let need = size_of::<ControlBlock>() as u64;
        let have = file.metadata()?.len();
        if have != need {
            return Err(foreign(&format!("it has {have} bytes, not {need}")));
        }
        let sealed = fcntl(&file, FcntlArg::F_GET_SEALS).unwrap_or(0);
        if sealed & SealFlag::F_SEAL_SHRINK.bits() == 0 {
            return Err(foreign("it is not a sealed memfd"));
        }
        let map = MmapOptions::new().len(size_of::<ControlBlock>()).map_raw(&file)?;
        let control = Self { file, map };
        if control.magic != MAGIC {
            return Err(foreign("it does not begin with OSTPCTRL"));
        }
        if control.version != VERSION || u64::from(control.size) != need {
            return Err(foreign(&format!("it has version {}, not {VERSION}", control.version)));
        }
        Ok(control)
    }

    /// Keeps the mapping until the process ends and closes this descriptor: for the agent, whose handlers may run
    /// at any time.
    #[must_use]
    pub fn leak(self) -> &'static ControlBlock {
        let block: *const ControlBlock = self.map.as_ptr().cast();
        std::mem::forget(self.map);
        // SAFETY:
        // - mapped, checked by `create` or `map`, and never unmapped from here on.
        unsafe { &*block }
    }
}

impl Deref for SharedControl {
    type Target = ControlBlock;

    fn deref(&self) -> &ControlBlock {
        // SAFETY:
        // - the mapping is page-aligned, exactly as long as the block, and cannot shrink (sealed);
        // - every bit pattern is a valid block; what changes under us is atomic or guarded by a state word.
        unsafe { &*self.map.as_ptr().cast() }
    }
}

impl AsFd for SharedControl {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// # Safety
/// `base + offset` is valid for writes of `bytes.len()` bytes.
unsafe fn copy(base: *mut u8, offset: usize, bytes: &[u8]) {
    // SAFETY: the caller's promise; `bytes` is ours, so they do not overlap.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), base.add(offset), bytes.len()) };
}

fn pattern_text(patterns: &[String]) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    for pattern in patterns {
        if pattern.as_bytes().contains(&0) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a function name contains a zero byte"));
        }
        text.extend_from_slice(pattern.as_bytes());
        text.push(0);
    }
    if text.len() > PATTERN_AREA {
        let message = format!(
            "the function names take {} bytes, {PATTERN_AREA} at most: use fewer -f options, or a glob",
            text.len()
        );
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    Ok(text)
}

fn foreign(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("no overstep control block: {why}"))
}
