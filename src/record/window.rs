//! Maps a trace file into the traced process: once, far beyond its end, since it grows under the mapping.

#![allow(unsafe_code, reason = "the mapping becomes the trace buffer's memory")]

use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::Ordering;

use memmap2::MmapOptions;

use super::buffer::{Backing, TraceBuffer};
use super::control_block::ControlBlock;
use super::counters::Counters;
use crate::raw;

/// Address space asked for, in bytes: no memory, only page tables as the trace grows.
const WINDOW: u64 = 64 << 30;
/// The least that is taken where address space is limited (`ulimit -v`).
const SMALLEST: u64 = 64 << 20;
/// The share of a limited address space that is taken: the rest is the program's.
const SHARE: u64 = 8;

/// Maps the trace file for the rest of the process's life.
///
/// # Errors
/// `InvalidData` when the control block names no place for the counters; mmap(2)'s error when not even 64 MiB of
/// address space are left.
pub fn map(file: BorrowedFd<'_>, control: &'static ControlBlock) -> io::Result<TraceBuffer> {
    let file = File::from(file.try_clone_to_owned()?);
    let counters_at = control.counters_at.load(Ordering::Relaxed);
    let fits = counters_at != 0
        && counters_at.is_multiple_of(8)
        && counters_at.saturating_add(size_of::<Counters>() as u64)
            <= control.progress.room.load(Ordering::Acquire);
    if !fits {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the control block names no trace file"));
    }
    let mut window = WINDOW.min(raw::soft_limit(libc::RLIMIT_AS) / SHARE).next_power_of_two().max(SMALLEST);
    let map = loop {
        match MmapOptions::new().len(window as usize).map_raw(&file) {
            Ok(map) => break map,
            Err(error) if error.raw_os_error() == Some(libc::ENOMEM) && window > SMALLEST => window /= 2,
            Err(error) => return Err(error),
        }
    };
    let base = map.as_mut_ptr();
    std::mem::forget(map);
    let counters = base.wrapping_add(counters_at as usize).cast_const().cast();
    // SAFETY:
    // - the mapping stays (forgotten), writable and page-aligned, and the parent keeps the file `room` bytes long;
    // - the parent starts `used` behind header and counters, over zeros;
    // - the control block is 'static, and the counters were checked to lie inside the room.
    Ok(unsafe { TraceBuffer::new(base, window, &raw const control.progress, counters, Backing::File) })
}
