//! Memory for the agent that is not the program's heap, so that malloc gives the program the addresses it gives
//! it untraced.
//!
//! A region that only grows, given back when nothing in it is alive: the agent allocates in its constructor, and
//! little after it.

use std::alloc::{GlobalAlloc, Layout};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};

use overstep::raw;

/// Address space for all of it; touched as far as it is used.
const REGION: usize = 4 << 30;
/// The share of a limited address space (`ulimit -v`) that is taken: the rest is the program's.
const SHARE: usize = 8;

#[global_allocator]
static ALLOCATOR: Region = Region {
    base: AtomicUsize::new(0),
    length: AtomicUsize::new(0),
    used: AtomicUsize::new(0),
    last: AtomicUsize::new(0),
};

struct Region {
    /// ATOMICS: set once by compare-exchange; a thread that loses unmaps its own.
    base: AtomicUsize,
    /// In bytes. ATOMICS: stored before `base` (release), by the constructor, when there is no other thread.
    length: AtomicUsize,
    /// Bytes given out. ATOMICS: threads add.
    used: AtomicUsize,
    /// Where the newest allocation starts: that one can grow in place. ATOMICS: a hint, checked against `used`.
    last: AtomicUsize,
}

impl Region {
    fn base(&self) -> Option<usize> {
        let base = self.base.load(Ordering::Acquire);
        if base != 0 {
            return Some(base);
        }
        let protection = (libc::PROT_READ | libc::PROT_WRITE) as u64;
        let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE) as u64;
        let map = |length: usize| {
            // SAFETY: a fresh anonymous mapping; no existing memory is touched.
            unsafe { raw::syscall(libc::SYS_mmap, [0, length as u64, protection, flags, u64::MAX, 0]) }.ok()
        };
        let length = REGION.min(raw::soft_limit(libc::RLIMIT_AS) as usize / SHARE);
        let fresh = map(length)? as usize;
        self.length.store(length, Ordering::Relaxed);
        match self.base.compare_exchange(0, fresh, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Some(fresh),
            Err(theirs) => {
                // SAFETY: the mapping just made, which nobody has seen.
                let _ = unsafe { raw::syscall(libc::SYS_munmap, [fresh as u64, length as u64, 0, 0, 0, 0]) };
                Some(theirs)
            }
        }
    }
}

// SAFETY:
// - `fetch_add` hands every byte of the region to one caller, aligned as asked, and mapped (or the call fails);
// - nothing is given out twice: `used` only grows, but for the newest allocation's own growth.
unsafe impl GlobalAlloc for Region {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(base) = self.base() else { return null_mut() };
        let slack = layout.size() + layout.align() - 1;
        let start = self.used.fetch_add(slack, Ordering::Relaxed);
        if start + slack > self.length.load(Ordering::Relaxed) {
            return null_mut();
        }
        let address = (base + start).next_multiple_of(layout.align());
        self.last.store(address, Ordering::Relaxed);
        address as *mut u8
    }

    unsafe fn dealloc(&self, _place: *mut u8, _layout: Layout) {}

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let old = place as usize;
        if size <= layout.size() {
            return place;
        }
        let end = old + layout.size();
        let used = self.used.load(Ordering::Relaxed);
        let grown = old + size - self.base.load(Ordering::Relaxed);
        // The newest allocation may end before `used`, by what its alignment left over.
        let newest = self.last.load(Ordering::Relaxed) == old
            && end <= self.base.load(Ordering::Relaxed) + used
            && grown <= self.length.load(Ordering::Relaxed);
        if newest
            && self.used.compare_exchange(used, grown.max(used), Ordering::Relaxed, Ordering::Relaxed).is_ok()
        {
            return place;
        }
        // SAFETY: the new layout is as valid as the old one, with a size that the caller vouches for.
        let fresh = unsafe { self.alloc(Layout::from_size_align_unchecked(size, layout.align())) };
        if !fresh.is_null() {
            // SAFETY: both places hold at least the old size, and the new one was never given out before.
            unsafe { std::ptr::copy_nonoverlapping(place, fresh, layout.size()) };
        }
        fresh
    }
}
