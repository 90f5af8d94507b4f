//! What a measuring child needs around it: a CPU, memory, its own resource usage. Raw system calls only.

#![allow(unsafe_code, reason = "system calls with pointers, and memory from mmap")]

use crate::raw::{Errno, syscall};

pub(super) const PAGE: u64 = 4096;
/// `RUSAGE_THREAD` (`getrusage(2)`).
const RUSAGE_THREAD: u64 = 1;

/// What `getrusage` says of this thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usage {
    pub faults: u64,
    pub voluntary: u64,
    pub involuntary: u64,
}

/// Has this thread run on `cpu` only.
pub(super) fn pin(cpu: Option<u32>) -> Result<(), Errno> {
    let Some(cpu) = cpu else { return Ok(()) };
    let mut set = [0u64; 128];
    if let Some(word) = set.get_mut(cpu as usize / 64) {
        *word |= 1 << (cpu % 64);
    }
    // SAFETY: `set` lives and has the size stated.
    unsafe {
        syscall(libc::SYS_sched_setaffinity, [0, size_of_val(&set) as u64, set.as_ptr() as u64, 0, 0, 0])
    }
    .map(drop)
}

/// `bytes` of zeroes on small pages.
pub(super) fn map(bytes: u64) -> Result<*mut u8, Errno> {
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as u64;
    let kind = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as u64;
    // SAFETY: a new anonymous mapping overlaps nothing.
    let region = unsafe { syscall(libc::SYS_mmap, [0, bytes, protection, kind, u64::MAX, 0]) }?;
    // SAFETY: it only advises about a mapping of ours.
    let _ = unsafe { syscall(libc::SYS_madvise, [region, bytes, libc::MADV_NOHUGEPAGE as u64, 0, 0, 0]) };
    // What a workload that sleeps takes for its `struct timespec`: a microsecond.
    let region = region as *mut u64;
    // SAFETY: the first page is mapped for writing.
    unsafe { region.add(1).write(1_000) };
    Ok(region.cast())
}

pub(super) fn give_back(region: *mut u8, bytes: u64) -> Result<(), Errno> {
    let advice = libc::MADV_DONTNEED as u64;
    // SAFETY: the memory is ours and holds nothing that is needed again.
    unsafe { syscall(libc::SYS_madvise, [region as u64, bytes, advice, 0, 0, 0]) }.map(drop)
}

/// This thread's page faults and context switches so far.
pub(super) fn usage() -> Usage {
    // `struct rusage` of x86_64: sixteen words after two timevals' four.
    let mut usage = [0u64; 18];
    // SAFETY: `usage` lives and has the 144 bytes of a `struct rusage`.
    let _ = unsafe { syscall(libc::SYS_getrusage, [RUSAGE_THREAD, usage.as_mut_ptr() as u64, 0, 0, 0, 0]) };
    let [.., minor, major, _swaps, _in, _out, _sent, _received, _signals, voluntary, involuntary] = usage;
    Usage { faults: minor + major, voluntary, involuntary }
}
