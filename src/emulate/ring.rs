//! An event's ring buffer: a memfd of the supervisor's that the program has mapped instead of the descriptor
//! (`perf_event_open(2)`, "MMAP layout").

#![allow(unsafe_code, reason = "the buffer is memory shared with the program")]

use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::MmapRaw;
use nix::errno::Errno;

use nix::unistd::Pid;

use super::attr::Attr;
use crate::address::RuntimeAddr;

pub const PAGE: usize = 4096;
/// `struct perf_event_mmap_page`: the four fields a reader needs, in bytes from its start.
const DATA_HEAD: usize = 1024;
const DATA_TAIL: usize = 1032;
const DATA_OFFSET: usize = 1040;
const DATA_SIZE: usize = 1048;

/// Whether the reader says how far it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// A writable mapping: it moves `data_tail`, and what it has not read stays.
    Consumes,
    /// A read-only one: the oldest records are overwritten.
    Looks,
}

/// What became of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    Quietly,
    /// Whoever polls has to be woken.
    Due,
    /// There was no room.
    Lost,
}

/// From where to where the buffer is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Forward,
    /// `attr.write_backward`: the latest record begins at `data_head`.
    Backward,
}

/// When a reader is woken (`attr.wakeup_events`, `attr.wakeup_watermark`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    Samples(u32),
    Bytes(u64),
}

/// Where a process has mapped a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingMapping {
    pub process: Pid,
    pub start: RuntimeAddr,
    /// In bytes.
    pub length: u64,
}

impl RingMapping {
    /// Whether the process still has it (`proc_pid_maps(5)`).
    #[must_use]
    pub fn is_there(&self) -> bool {
        let from_to = format!("{:08x}-{:08x} ", self.start.0, self.start.0 + self.length);
        let is_it = |line: &str| line.starts_with(&from_to) && line.contains(&format!("/memfd:{NAME}"));
        fs::read_to_string(format!("/proc/{}/maps", self.process)).is_ok_and(|maps| maps.lines().any(is_it))
    }
}

#[derive(Debug)]
pub struct Ring {
    pub file: OwnedFd,
    map: MmapRaw,
    reader: Reader,
    size: u64,
    head: u64,
    direction: Direction,
    paused: bool,
    lost: u64,
    rule: Rule,
    /// Bytes, in all.
    written: u64,
    /// Samples, or what was written, at the last wakeup.
    since_wakeup: u64,
}

impl Ring {
    /// A buffer of `pages` pages of data behind the first one, in an empty memfd.
    ///
    /// # Errors
    /// ENOMEM.
    pub fn new(file: OwnedFd, pages: usize, reader: Reader, attr: &Attr) -> Result<Self, Errno> {
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
        let direction = if attr.write_backward() == 1 { Direction::Backward } else { Direction::Forward };
        let ring = Self {
            file,
            map,
            reader,
            size,
            head: 0,
            direction,
            paused: false,
            lost: 0,
            rule,
            written: 0,
            since_wakeup: 0,
        };
        ring.word(DATA_OFFSET).store(PAGE as u64, Ordering::Relaxed);
        ring.word(DATA_SIZE).store(size, Ordering::Relaxed);
        Ok(ring)
    }

    #[must_use]
    pub fn pages(&self) -> usize {
        self.size as usize / PAGE
    }

    /// Appends a record, or notes that there was no room; `lost` makes the record that says how many were lost before.
    pub fn append(&mut self, record: &[u8], samples: u64, lost: impl FnOnce(u64) -> Vec<u8>) -> Appended {
        if self.size == 0 {
            return Appended::Quietly;
        }
        let before = if self.lost > 0 { lost(self.lost) } else { Vec::new() };
        if self.paused || !self.fits((before.len() + record.len()) as u64) {
            self.lost += 1;
            return Appended::Lost;
        }
        self.lost = 0;
        match self.direction {
            Direction::Forward => {
                self.store(self.head, &before);
                self.store(self.head.wrapping_add(before.len() as u64), record);
                self.head = self.head.wrapping_add((before.len() + record.len()) as u64);
            }
            Direction::Backward => {
                self.head = self.head.wrapping_sub((before.len() + record.len()) as u64);
                self.store(self.head, &before);
                self.store(self.head.wrapping_add(before.len() as u64), record);
            }
        }
        // ATOMICS: release; the program's reader loads it with acquire before it reads what was stored.
        self.word(DATA_HEAD).store(self.head, Ordering::Release);
        self.written += (before.len() + record.len()) as u64;
        self.wakeup(samples)
    }

    /// `PERF_EVENT_IOC_PAUSE_OUTPUT`: what comes meanwhile is lost.
    pub fn pause(&mut self, paused: bool) {
        self.paused = paused;
    }

    /// One byte always stays free (`kernel/events/ring_buffer.c`, `ring_buffer_has_space`).
    fn fits(&self, length: u64) -> bool {
        // ATOMICS: acquire; the program's reader stores it after it has read.
        let tail = self.word(DATA_TAIL).load(Ordering::Acquire);
        let used = match self.direction {
            Direction::Forward => self.head.wrapping_sub(tail),
            Direction::Backward => tail.wrapping_sub(self.head),
        };
        self.reader == Reader::Looks || used % self.size + length < self.size
    }

    fn store(&mut self, from: u64, record: &[u8]) {
        for (place, &byte) in record.iter().enumerate() {
            let at = PAGE + (from.wrapping_add(place as u64) % self.size) as usize;
            // SAFETY: `at` lies within the first page and `size` bytes behind it, which the mapping has.
            unsafe { self.map.as_mut_ptr().add(at).write_volatile(byte) };
        }
    }

    fn wakeup(&mut self, samples: u64) -> Appended {
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
                let due = self.written - self.since_wakeup > every;
                if due {
                    self.since_wakeup += every;
                }
                due
            }
        };
        if due { Appended::Due } else { Appended::Quietly }
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        // SAFETY:
        // - the first page is mapped as long as `self`, and `at` is a multiple of eight within it;
        // - the program may store to it at any time, which an atomic allows.
        unsafe { AtomicU64::from_ptr(self.map.as_mut_ptr().add(at).cast()) }
    }
}

/// The memfd's name, by which a mapping of it is found in `/proc/PID/maps`.
#[must_use]
pub fn name(id: u64) -> String {
    format!("{NAME}{id}")
}

const NAME: &str = "overstep-perf-";

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(pages: usize, reader: Reader, samples: u32) -> Ring {
        let mut attr = Attr::default();
        attr.__bindgen_anon_2.wakeup_events = samples;
        let file = nix::sys::memfd::memfd_create(c"ring", nix::sys::memfd::MFdFlags::empty()).unwrap();
        Ring::new(file, pages, reader, &attr).unwrap()
    }

    fn lost(number: u64) -> Vec<u8> {
        vec![number as u8; 24]
    }

    #[test]
    fn what_does_not_fit_is_lost_until_the_reader_has_moved() {
        let mut ring = ring(1, Reader::Consumes, 2);
        let record = [7u8; 1000];
        let appended: Vec<_> = (0..5).map(|_| ring.append(&record, 1, lost)).collect();
        use Appended::{Due, Lost, Quietly};
        assert_eq!(appended, [Quietly, Due, Quietly, Due, Lost]);
        assert_eq!((ring.head, ring.lost), (4000, 1));
        ring.word(DATA_TAIL).store(2000, Ordering::Relaxed);
        assert_eq!(ring.append(&record, 1, lost), Quietly);
        assert_eq!((ring.head, ring.lost), (4000 + 24 + 1000, 0));
        assert_eq!(ring.word(DATA_HEAD).load(Ordering::Relaxed), ring.head);
        ring.pause(true);
        assert_eq!(ring.append(&[1; 8], 1, lost), Lost);
    }

    #[test]
    fn a_full_buffer_has_one_byte_free() {
        let mut ring = ring(1, Reader::Consumes, 0);
        assert_eq!(ring.append(&[1; 4096], 1, lost), Appended::Lost);
        assert_ne!(ring.append(&[1; 4064], 1, lost), Appended::Lost);
    }

    #[test]
    fn a_reader_that_only_looks_sees_the_latest() {
        let mut ring = ring(1, Reader::Looks, 0);
        for _ in 0..10 {
            ring.append(&[1; 1000], 1, lost);
        }
        assert_eq!((ring.head, ring.lost), (10_000, 0));
    }

    #[test]
    fn a_buffer_that_is_filled_backward_begins_with_the_latest() {
        let mut attr = Attr::default();
        attr.set_write_backward(1);
        let file = nix::sys::memfd::memfd_create(c"ring", nix::sys::memfd::MFdFlags::empty()).unwrap();
        let mut ring = Ring::new(file, 1, Reader::Looks, &attr).unwrap();
        ring.append(&[1; 16], 1, lost);
        ring.append(&[2; 16], 1, lost);
        assert_eq!(ring.head as i64, -32);
        // SAFETY: the mapping has two pages.
        let byte = |at: usize| unsafe { ring.map.as_mut_ptr().add(PAGE + at).read_volatile() };
        assert_eq!([byte(4095), byte(4080), byte(4079), byte(4064)], [1, 1, 2, 2]);
    }
}
