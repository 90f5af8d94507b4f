//! The samples that the kernel writes beside the signals: their IPs (`perf_event_open(2)`, MMAP layout).

#![allow(unsafe_code, reason = "memory that the kernel writes")]

use crate::raw::{Errno, syscall};

/// Data pages, a power of two: room for two thousand samples of an IP each.
const PAGES: u64 = 8;
const PAGE: u64 = 4096;
/// `data_head` in `struct perf_event_mmap_page`.
const HEAD: usize = 1024;
/// `PERF_RECORD_SAMPLE`.
const SAMPLE: u32 = 9;
/// A header of eight bytes.
const HEADER: usize = 8;

/// An event's ring buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ring(*const u8);

impl Ring {
    /// Maps `event`'s buffer.
    ///
    /// # Errors
    /// EPERM beyond `perf_event_mlock_kb`.
    pub(super) fn map(event: i32) -> Result<Self, Errno> {
        let protection = (libc::PROT_READ | libc::PROT_WRITE) as u64;
        let arguments = [0, (1 + PAGES) * PAGE, protection, libc::MAP_SHARED as u64, event as u64, 0];
        // SAFETY: a new mapping overlaps nothing.
        unsafe { syscall(libc::SYS_mmap, arguments) }.map(|base| Self(base as *const u8))
    }

    /// Hands on the IP of each sample, in order. Nothing of the buffer was taken out before, so it has not wrapped.
    pub(super) fn read(self, mut sample: impl FnMut(usize, u64)) {
        // SAFETY: the first page is mapped and has the field; the kernel writes it whole.
        let head = unsafe { self.0.add(HEAD).cast::<u64>().read_volatile() } as usize;
        let (mut at, mut n) = (0, 0);
        while at + HEADER < head {
            // SAFETY: below `head` there are whole records, behind the first page.
            let record = unsafe { self.0.add(PAGE as usize + at) };
            // SAFETY: as above; records are aligned to eight bytes.
            let (kind, size) = unsafe { (record.cast::<u32>().read(), record.add(6).cast::<u16>().read()) };
            if kind == SAMPLE {
                // SAFETY: as above; with PERF_SAMPLE_IP alone, the IP is what a sample holds.
                sample(n, unsafe { record.add(HEADER).cast::<u64>().read() });
                n += 1;
            }
            at += usize::from(size).max(HEADER);
        }
    }
}
