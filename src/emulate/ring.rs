//! An event's ring buffer: a memfd of the supervisor's that the program has mapped instead of the descriptor
//! (`perf_event_open(2)`, "MMAP layout").

#![allow(unsafe_code, reason = "the buffer is memory shared with the program")]

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::MmapRaw;
use nix::errno::Errno;

use super::attr::Attr;

pub const PAGE: usize = 4096;
/// `struct perf_event_mmap_page`: the four fields a reader needs, in bytes from its start.
const DATA_HEAD: usize = 1024;
const DATA_TAIL: usize = 1032;
const DATA_OFFSET: usize = 1040;
const DATA_SIZE: usize = 1048;
/// `PERF_RECORD_LOST`.
const LOST: u32 = 2;

/// Whether the reader says how far it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// A writable mapping: it moves `data_tail`, and what it has not read stays.
    Consumes,
    /// A read-only one: the oldest records are overwritten.
    Looks,
}

/// Whether whoever polls has to be woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wakeup {
    None,
    Due,
}

/// When a reader is woken (`attr.wakeup_events`, `attr.wakeup_watermark`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    Samples(u32),
    Bytes(u64),
}

#[derive(Debug)]
pub struct Ring {
    pub file: OwnedFd,
    map: MmapRaw,
    reader: Reader,
    size: u64,
    head: u64,
    lost: u64,
    rule: Rule,
    /// Samples, or where `head` was, at the last wakeup.
    since_wakeup: u64,
}

impl Ring {
    /// A buffer of `pages` pages of data behind the first one.
    ///
    /// # Errors
    /// ENOMEM, EMFILE.
    pub fn new(id: u64, pages: usize, reader: Reader, attr: &Attr) -> Result<Self, Errno> {
        let name = std::ffi::CString::new(name(id)).map_err(|_| Errno::EINVAL)?;
        // SAFETY: the name ends in zero; the descriptor is new.
        let file = unsafe {
            let descriptor = Errno::result(libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC))?;
            OwnedFd::from_raw_fd(descriptor)
        };
        let length = (1 + pages) * PAGE;
        // SAFETY: ftruncate takes numbers.
        Errno::result(unsafe { libc::ftruncate(file.as_raw_fd(), length as i64) })?;
        let map = MmapRaw::map_raw(&file).map_err(|_| Errno::ENOMEM)?;
        let size = (pages * PAGE) as u64;
        // SAFETY: a union of two u32 of which `watermark` says the meaning.
        let wakeup = unsafe { attr.__bindgen_anon_2.wakeup_events };
        let rule = match (attr.watermark(), wakeup) {
            (0, 0) => Rule::Bytes(size / 2),
            (0, samples) => Rule::Samples(samples),
            (_, 0) => Rule::Bytes(size / 2),
            (_, bytes) => Rule::Bytes(u64::from(bytes).min(size)),
        };
        let ring = Self { file, map, reader, size, head: 0, lost: 0, rule, since_wakeup: 0 };
        ring.word(DATA_OFFSET).store(PAGE as u64, Ordering::Relaxed);
        ring.word(DATA_SIZE).store(size, Ordering::Relaxed);
        Ok(ring)
    }

    #[must_use]
    pub fn pages(&self) -> usize {
        self.size as usize / PAGE
    }

    /// Appends a record, or notes that there was no room.
    pub fn append(&mut self, record: &[u8], samples: u64) -> Wakeup {
        if self.lost > 0 && self.fits(record.len() as u64 + LOST_LENGTH) {
            let lost = self.lost_record();
            self.lost = 0;
            self.store(&lost);
        }
        if !self.fits(record.len() as u64) {
            self.lost += 1;
            return Wakeup::None;
        }
        self.store(record);
        // ATOMICS: release; the program's reader loads it with acquire before it reads what was stored.
        self.word(DATA_HEAD).store(self.head, Ordering::Release);
        self.wakeup(samples)
    }

    fn fits(&self, length: u64) -> bool {
        // ATOMICS: acquire; the program's reader stores it after it has read.
        let tail = self.word(DATA_TAIL).load(Ordering::Acquire);
        self.reader == Reader::Looks || self.head.wrapping_sub(tail) + length <= self.size
    }

    fn store(&mut self, record: &[u8]) {
        if self.size == 0 {
            return;
        }
        for (place, &byte) in (self.head..).zip(record) {
            let at = PAGE + (place % self.size) as usize;
            // SAFETY: `at` lies within the first page and `size` bytes behind it, which the mapping has.
            unsafe { self.map.as_mut_ptr().add(at).write_volatile(byte) };
        }
        self.head += record.len() as u64;
    }

    fn wakeup(&mut self, samples: u64) -> Wakeup {
        let due = match self.rule {
            Rule::Samples(every) => {
                self.since_wakeup += samples;
                let due = self.since_wakeup >= u64::from(every);
                if due {
                    self.since_wakeup -= u64::from(every);
                }
                due
            }
            Rule::Bytes(every) => {
                let due = self.head - self.since_wakeup > every;
                if due {
                    self.since_wakeup += every;
                }
                due
            }
        };
        if due { Wakeup::Due } else { Wakeup::None }
    }

    fn lost_record(&self) -> Vec<u8> {
        let mut record = Vec::new();
        record.extend(LOST.to_ne_bytes());
        record.extend((((LOST_LENGTH as u32) << 16).to_ne_bytes()).iter());
        record.extend(0u64.to_ne_bytes());
        record.extend(self.lost.to_ne_bytes());
        record
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        // SAFETY:
        // - the first page is mapped as long as `self`, and `at` is a multiple of eight within it;
        // - the program may store to it at any time, which an atomic allows.
        unsafe { AtomicU64::from_ptr(self.map.as_mut_ptr().add(at).cast()) }
    }
}

/// Header, id and number; without the sample's identity, which a reader takes as zero.
const LOST_LENGTH: u64 = 24;

/// The memfd's name, by which a mapping of it is found in `/proc/PID/maps`.
#[must_use]
pub fn name(id: u64) -> String {
    format!("overstep-perf-{id}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(pages: usize, reader: Reader, samples: u32) -> Ring {
        let mut attr = Attr::default();
        attr.__bindgen_anon_2.wakeup_events = samples;
        Ring::new(1, pages, reader, &attr).unwrap()
    }

    #[test]
    fn what_does_not_fit_is_lost_until_the_reader_has_moved() {
        let mut ring = ring(1, Reader::Consumes, 2);
        let record = [7u8; 1024];
        let wakeups: Vec<_> = (0..5).map(|_| ring.append(&record, 1)).collect();
        assert_eq!(wakeups, [Wakeup::None, Wakeup::Due, Wakeup::None, Wakeup::Due, Wakeup::None]);
        assert_eq!((ring.head, ring.lost), (4096, 1));
        ring.word(DATA_TAIL).store(2048, Ordering::Relaxed);
        ring.append(&record, 1);
        assert_eq!((ring.head, ring.lost), (4096 + 24 + 1024, 0));
        assert_eq!(ring.word(DATA_HEAD).load(Ordering::Relaxed), ring.head);
    }

    #[test]
    fn a_reader_that_only_looks_sees_the_latest() {
        let mut ring = ring(1, Reader::Looks, 0);
        for _ in 0..10 {
            ring.append(&[1; 1000], 1);
        }
        assert_eq!((ring.head, ring.lost), (10_000, 0));
    }
}
