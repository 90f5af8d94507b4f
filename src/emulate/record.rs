//! Records for the ring buffer (`perf_event_open(2)`, "MMAP layout"): samples, and what a reader needs to make sense
//! of them.

use std::fs;

use nix::unistd::Pid;
use perf_event_open_sys::bindings as sys;

use super::attr::Attr;
use super::instance::Turn;
use crate::address::RuntimeAddr;

/// `PERF_RECORD_MISC_USER`, `PERF_RECORD_MISC_COMM_EXEC`.
const USER: u16 = 2;
const COMM_EXEC: u16 = 1 << 13;

/// Who, where and when: what most records end with.
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    pub process: Pid,
    pub thread: Pid,
    /// In nanoseconds of the event's clock.
    pub time: u64,
    pub event: u64,
    pub cpu: u32,
}

/// One record; its fields are all multiples of eight bytes together.
struct Record {
    kind: u32,
    misc: u16,
    body: Vec<u8>,
}

impl Record {
    fn new(kind: u32, misc: u16) -> Self {
        Self { kind, misc, body: Vec::new() }
    }

    fn word(&mut self, word: u64) {
        self.body.extend(word.to_ne_bytes());
    }

    fn halves(&mut self, low: u32, high: u32) {
        self.body.extend(low.to_ne_bytes());
        self.body.extend(high.to_ne_bytes());
    }

    /// A name, with zeros up to the next multiple of eight.
    fn text(&mut self, text: &[u8]) {
        self.body.extend(text);
        let zeros = 8 - text.len() % 8;
        self.body.extend(std::iter::repeat_n(0, zeros));
    }

    /// What samples and the ends of other records have first in common.
    fn who_and_when(&mut self, attr: &Attr, identity: Identity) {
        if asks_for(attr, sys::PERF_SAMPLE_TID) {
            self.halves(identity.process.as_raw() as u32, identity.thread.as_raw() as u32);
        }
        if asks_for(attr, sys::PERF_SAMPLE_TIME) {
            self.word(identity.time);
        }
    }

    /// What they have in common next.
    fn which_and_where(&mut self, attr: &Attr, identity: Identity) {
        if asks_for(attr, sys::PERF_SAMPLE_ID) {
            self.word(identity.event);
        }
        if asks_for(attr, sys::PERF_SAMPLE_STREAM_ID) {
            self.word(identity.event);
        }
        if asks_for(attr, sys::PERF_SAMPLE_CPU) {
            self.halves(identity.cpu, 0);
        }
    }

    fn bytes(self) -> Vec<u8> {
        const HEADER: usize = 8;
        let length = (HEADER + self.body.len()) as u16;
        let mut bytes = Vec::with_capacity(length.into());
        bytes.extend(self.kind.to_ne_bytes());
        bytes.extend(self.misc.to_ne_bytes());
        bytes.extend(length.to_ne_bytes());
        bytes.extend(self.body);
        bytes
    }
}

/// Whether `attr.sample_type` has the bit.
fn asks_for(attr: &Attr, bit: sys::perf_event_sample_format) -> bool {
    attr.sample_type & bit as u64 != 0
}

/// `PERF_RECORD_SAMPLE`.
#[must_use]
pub fn sample(attr: &Attr, identity: Identity, at: RuntimeAddr, period: u64, values: &[u8]) -> Vec<u8> {
    let has = |bit| asks_for(attr, bit);
    let mut record = Record::new(sys::PERF_RECORD_SAMPLE, USER);
    if has(sys::PERF_SAMPLE_IDENTIFIER) {
        record.word(identity.event);
    }
    if has(sys::PERF_SAMPLE_IP) {
        record.word(at.0);
    }
    record.who_and_when(attr, identity);
    if has(sys::PERF_SAMPLE_ADDR) {
        record.word(0);
    }
    record.which_and_where(attr, identity);
    if has(sys::PERF_SAMPLE_PERIOD) {
        record.word(period);
    }
    if has(sys::PERF_SAMPLE_READ) {
        record.body.extend(values);
    }
    record.bytes()
}

/// `attr.sample_id_all`: the end of every record that is no sample.
fn identify(record: &mut Record, attr: &Attr, identity: Identity) {
    if attr.sample_id_all() == 0 {
        return;
    }
    let has = |bit| asks_for(attr, bit);
    record.who_and_when(attr, identity);
    record.which_and_where(attr, identity);
    if has(sys::PERF_SAMPLE_IDENTIFIER) {
        record.word(identity.event);
    }
}

/// Why a thread has another name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    ByExec,
    ByItself,
}

/// `PERF_RECORD_COMM`: the thread's new name.
#[must_use]
pub fn named(by: Named, attr: &Attr, identity: Identity) -> Vec<u8> {
    let name = fs::read(format!("/proc/{}/comm", identity.thread)).unwrap_or_default();
    let misc = if by == Named::ByExec { COMM_EXEC } else { 0 };
    let mut record = Record::new(sys::PERF_RECORD_COMM, misc);
    record.halves(identity.process.as_raw() as u32, identity.thread.as_raw() as u32);
    record.text(name.trim_ascii_end());
    identify(&mut record, attr, identity);
    record.bytes()
}

/// `PERF_RECORD_LOST`: so many records found no room.
#[must_use]
pub fn lost(attr: &Attr, identity: Identity, number: u64) -> Vec<u8> {
    let mut record = Record::new(sys::PERF_RECORD_LOST, 0);
    record.word(identity.event);
    record.word(number);
    identify(&mut record, attr, identity);
    record.bytes()
}

/// `PERF_RECORD_THROTTLE` and `PERF_RECORD_UNTHROTTLE` (`kernel/events/core.c`, `perf_log_throttle`).
#[must_use]
pub fn throttling(turn: Turn, attr: &Attr, identity: Identity) -> Vec<u8> {
    let kind = match turn {
        Turn::Throttled => sys::PERF_RECORD_THROTTLE,
        Turn::Unthrottled => sys::PERF_RECORD_UNTHROTTLE,
    };
    let mut record = Record::new(kind, 0);
    record.word(identity.time);
    record.word(identity.event);
    record.word(identity.event);
    identify(&mut record, attr, identity);
    record.bytes()
}

/// Who has begun or ended, and who started it.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    pub process: Pid,
    pub thread: Pid,
    pub parent_process: Pid,
    pub parent_thread: Pid,
}

/// `PERF_RECORD_FORK` and `PERF_RECORD_EXIT`.
#[must_use]
pub fn task(kind: sys::perf_event_type, attr: &Attr, identity: Identity, task: Task) -> Vec<u8> {
    let mut record = Record::new(kind, 0);
    record.halves(task.process.as_raw() as u32, task.parent_process.as_raw() as u32);
    record.halves(task.thread.as_raw() as u32, task.parent_thread.as_raw() as u32);
    record.word(identity.time);
    identify(&mut record, attr, identity);
    record.bytes()
}

/// One executable mapping (`proc_pid_maps(5)`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    start: u64,
    length: u64,
    offset: u64,
    device: (u32, u32),
    inode: u64,
    path: String,
}

/// The executable mappings of a process.
#[must_use]
pub fn executable_mappings(process: Pid) -> Vec<Mapping> {
    let text = fs::read_to_string(format!("/proc/{process}/maps")).unwrap_or_default();
    text.lines().filter_map(Mapping::parse).collect()
}

impl Mapping {
    fn parse(line: &str) -> Option<Self> {
        let hex = |text: &str| u64::from_str_radix(text, 16).ok();
        let mut fields = line.splitn(6, ' ');
        let (start, end) = fields.next()?.split_once('-')?;
        let permissions = fields.next()?;
        let offset = hex(fields.next()?)?;
        let (major, minor) = fields.next()?.split_once(':')?;
        let inode = fields.next()?.parse().ok()?;
        let path = fields.next().unwrap_or("").trim();
        if !permissions.contains('x') {
            return None;
        }
        let (start, end) = (hex(start)?, hex(end)?);
        Some(Self {
            start,
            length: end - start,
            offset,
            device: (hex(major)? as u32, hex(minor)? as u32),
            inode,
            path: if path.is_empty() { "//anon".to_owned() } else { path.to_owned() },
        })
    }

    #[must_use]
    pub fn contains(&self, address: RuntimeAddr) -> bool {
        address.0.wrapping_sub(self.start) < self.length
    }

    /// `PERF_RECORD_MMAP2` where that was asked for (`attr.mmap2`), else `PERF_RECORD_MMAP`.
    #[must_use]
    pub fn record(&self, attr: &Attr, identity: Identity) -> Vec<u8> {
        let with_inode = attr.mmap2() == 1;
        let kind = if with_inode { sys::PERF_RECORD_MMAP2 } else { sys::PERF_RECORD_MMAP };
        let mut record = Record::new(kind, USER);
        record.halves(identity.process.as_raw() as u32, identity.thread.as_raw() as u32);
        record.word(self.start);
        record.word(self.length);
        record.word(self.offset);
        if with_inode {
            record.halves(self.device.0, self.device.1);
            record.word(self.inode);
            // The inode's generation is not to be had from here.
            record.word(0);
            record.halves((libc::PROT_READ | libc::PROT_EXEC) as u32, libc::MAP_PRIVATE as u32);
        }
        record.text(self.path.as_bytes());
        identify(&mut record, attr, identity);
        record.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_executable_mapping_is_read_from_its_line() {
        let line = "7f10a000-7f10c000 r-xp 00002000 fe:01 1234                       /usr/lib/a b.so";
        let mapping = Mapping::parse(line).unwrap();
        assert_eq!((mapping.start, mapping.length, mapping.offset), (0x7f10_a000, 0x2000, 0x2000));
        assert_eq!(
            (mapping.device, mapping.inode, mapping.path.as_str()),
            ((0xfe, 1), 1234, "/usr/lib/a b.so")
        );
        assert!(mapping.contains(RuntimeAddr(0x7f10_bfff)) && !mapping.contains(RuntimeAddr(0x7f10_c000)));
        assert_eq!(Mapping::parse("7f10a000-7f10c000 rw-p 00000000 00:00 0 "), None);
    }

    #[test]
    fn a_sample_has_its_fields_in_the_kernels_order() {
        let mut attr = Attr::default();
        attr.sample_type = (sys::PERF_SAMPLE_PERIOD | sys::PERF_SAMPLE_IP | sys::PERF_SAMPLE_TID) as u64;
        let pid = Pid::from_raw(5);
        let identity = Identity { process: pid, thread: Pid::from_raw(6), time: 7, event: 8, cpu: 0 };
        let bytes = sample(&attr, identity, RuntimeAddr(0x1234), 1000, &[]);
        let word = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap());
        assert_eq!(bytes.len(), 32);
        assert_eq!(word(0), 32 << 48 | 2 << 32 | 9);
        assert_eq!((word(8), word(16), word(24)), (0x1234, 6 << 32 | 5, 1000));
    }
}
