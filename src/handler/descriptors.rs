//! The descriptors of the tracer's events, which stay open whatever the program closes: it closes numbers that it did not
//! open, one by one and whole ranges of them.

#![allow(unsafe_code, reason = "descriptors are closed by number")]

use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

use crate::event::ioctl;
use crate::raw::{self, Errno};

/// Events that can be kept: four for each of a thousand threads. Of more, the program may close some.
const MOST: usize = 1 << 12;
const FREE: i32 = 0;
/// close_range(2)'s flag that closes nothing (`include/uapi/linux/close_range.h`).
const CLOSE_ON_EXEC: u32 = 1 << 2;

/// An open event.
struct Own {
    /// The descriptor plus one. ATOMICS: FREE → taken by compare-exchange of who opens it, back by who closes it.
    taken: AtomicI32,
    /// The kernel's id for it. Between the two stores the number is nobody's, which is as it was before.
    id: AtomicU64,
}

static ALL: [Own; MOST] = [const { Own { taken: AtomicI32::new(FREE), id: AtomicU64::new(0) } }; MOST];
/// Entries that were ever used, from the first on. ATOMICS: only raised.
static USED: AtomicU32 = AtomicU32::new(0);

fn used() -> impl Iterator<Item = &'static Own> {
    ALL.iter().take(USED.load(Ordering::Acquire) as usize)
}

/// Remembers an event that was opened.
pub(super) fn add(fd: i32, id: u64) {
    for (number, own) in ALL.iter().enumerate() {
        if own.taken.compare_exchange(FREE, fd + 1, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            own.id.store(id, Ordering::Release);
            USED.fetch_max(number as u32 + 1, Ordering::Release);
            return;
        }
    }
}

/// Forgets it: it is closed, or gone.
pub(super) fn remove(fd: i32, id: u64) {
    let is_it =
        |own: &&Own| own.taken.load(Ordering::Relaxed) == fd + 1 && own.id.load(Ordering::Relaxed) == id;
    if let Some(own) = used().find(is_it) {
        own.taken.store(FREE, Ordering::Release);
    }
}

/// Whether the number leads to an event of the tracer's.
///
/// # Signal safety
/// Atomics, and ioctl where it once led to one.
pub(super) fn is_own(fd: i32) -> bool {
    fd >= 0 && used().any(|own| own.fd() == Some(fd) && own.is_open(fd))
}

/// close_range(2) around the tracer's descriptors. `None` where none of them would be closed: the call is as good as any.
///
/// # Errors
/// The first errno of the kernel's.
///
/// # Signal safety
/// Atomics, ioctl and close_range.
pub(super) fn close_range_around(first: u32, last: u32, flags: u32) -> Option<Result<(), Errno>> {
    if flags & CLOSE_ON_EXEC != 0 || first > last {
        return None;
    }
    let mut own = next_own(first, last)?;
    let (mut from, mut result) = (first, Ok(()));
    let mut close = |from: u32, to: u32| {
        let arguments = [u64::from(from), u64::from(to), u64::from(flags), 0, 0, 0];
        // SAFETY: the program's own wish.
        let closed = unsafe { raw::syscall(libc::SYS_close_range, arguments) }.map(|_| ());
        result = result.and(closed);
    };
    loop {
        if own > from {
            close(from, own - 1);
        }
        from = own + 1;
        match next_own(from, last) {
            Some(next) => own = next,
            None if from <= last => break close(from, last),
            None => break,
        }
    }
    Some(result)
}

/// The lowest number from `first` to `last` that leads to an event of the tracer's.
fn next_own(first: u32, last: u32) -> Option<u32> {
    let open = used().filter_map(|own| own.fd().filter(|fd| own.is_open(*fd)));
    open.filter_map(|fd| u32::try_from(fd).ok()).filter(|fd| (first..=last).contains(fd)).min()
}

impl Own {
    fn fd(&self) -> Option<i32> {
        Some(self.taken.load(Ordering::Acquire)).filter(|taken| *taken != FREE).map(|taken| taken - 1)
    }

    fn is_open(&self, fd: i32) -> bool {
        ioctl::id(fd) == Ok(self.id.load(Ordering::Acquire))
    }
}
