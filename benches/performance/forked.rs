//! Each contestant runs in a process forked for it: all start from the same memory, so that even an interpreter takes
//! the same path, and none inherits the other's signal handlers and breakpoints.

#![allow(unsafe_code, reason = "fork(2), and memory shared with the children")]

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

/// Addresses a board can hold.
const LONGEST_PATH: usize = 1 << 19;

/// Where a child leaves its results for the parent.
#[repr(C)]
pub struct Board {
    // ATOMICS: all relaxed; a child writes, the parent reads after it has waited for that child.
    nanoseconds: AtomicU64,
    steps: AtomicU64,
    path_length: AtomicU64,
    path: [AtomicU64; LONGEST_PATH],
}

/// What one run of one contestant took.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    pub nanoseconds: u64,
    pub steps: u64,
}

impl Sample {
    pub fn per_step(&self) -> f64 {
        self.nanoseconds as f64 / self.steps as f64
    }
}

impl Board {
    /// # Errors
    /// mmap(2)'s.
    pub fn new() -> io::Result<&'static Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping, wherever the kernel puts it.
        let memory = unsafe { libc::mmap(std::ptr::null_mut(), size_of::<Self>(), protection, flags, -1, 0) };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: page-aligned, zeroed, never unmapped; atomics may be shared, and zeros are values of theirs.
        Ok(unsafe { &*memory.cast::<Self>() })
    }

    pub fn set(&self, sample: Sample) {
        self.nanoseconds.store(sample.nanoseconds, Ordering::Relaxed);
        self.steps.store(sample.steps, Ordering::Relaxed);
    }

    pub fn set_path(&self, path: impl Iterator<Item = u64>) {
        let mut length = 0;
        for (place, address) in self.path.iter().zip(path) {
            place.store(address, Ordering::Relaxed);
            length += 1;
        }
        self.path_length.store(length, Ordering::Relaxed);
    }

    pub fn path(&self) -> &[AtomicU64] {
        let length = self.path_length.load(Ordering::Relaxed) as usize;
        self.path.get(..length).unwrap_or(&[])
    }

    /// Runs `work` in a child and returns what it [`set`](Self::set); `None` when the child panicked or died.
    pub fn sample(&'static self, work: impl FnOnce(&'static Self)) -> Option<Sample> {
        // SAFETY: this process has one thread, so that the child may do whatever the parent could.
        let child = unsafe { libc::fork() };
        match child {
            -1 => return None,
            0 => {
                let outcome = catch_unwind(AssertUnwindSafe(|| work(self)));
                // SAFETY: ends the child at once, without the parent's buffers and exit handlers.
                unsafe { libc::_exit(i32::from(outcome.is_err())) }
            }
            _ => {}
        }
        let mut status = 0;
        // SAFETY: `status` is ours to fill, and the child is ours.
        let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
        (waited == child && status == 0).then(|| Sample {
            nanoseconds: self.nanoseconds.load(Ordering::Relaxed),
            steps: self.steps.load(Ordering::Relaxed),
        })
    }
}
