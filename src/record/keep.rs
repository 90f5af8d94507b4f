//! The parent keeps a second descriptor of each trigger: programs close descriptors that they did not open, and a perf
//! event ends with its last one.

#![allow(unsafe_code, reason = "pidfd_getfd(2) and read(2) are raw system calls")]

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use super::control::Progress;
use super::room::{ask, sleep};
use crate::raw::{Errno, syscall};

const FREE: u32 = 0;
const CLAIMED: u32 = 1;
const ASKED: u32 = 2;
const DONE: u32 = 3;

/// Waits of 50 ms until a process goes on without an answer.
const SLICES: u32 = 6;
/// Kept descriptors from which on those of processes that are gone are given up.
const MANY: usize = 64;
/// What a process asks to have its triggers given up: no descriptor.
const NONE: i32 = -1;

/// What a traced process asks of its parent.
#[derive(Debug, Default)]
#[repr(C)]
pub struct KeepRequest {
    /// ATOMICS: FREE → CLAIMED (compare-exchange) → ASKED (release) by the process that asks, → DONE by the parent, → FREE
    /// by who asked.
    state: AtomicU32,
    pid: AtomicU32,
    fd: AtomicI32,
}

/// Has the parent keep the trigger `fd` of the calling process, `pid`.
///
/// # Signal safety
/// Atomics and futex(2); waits for the parent for 300 ms at most.
pub fn keep(progress: &Progress, pid: u32, fd: i32) {
    request(progress, pid, fd);
}

/// Has the parent silence and give up the triggers of the process `pid`.
///
/// # Signal safety
/// As [`keep`].
pub fn give_up(progress: &Progress, pid: u32) {
    request(progress, pid, NONE);
}

fn request(progress: &Progress, pid: u32, fd: i32) {
    let request = &progress.keep;
    let change =
        |from, to| request.state.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok();
    if !wait_until(progress, || change(FREE, CLAIMED)) {
        return;
    }
    request.pid.store(pid, Ordering::Relaxed);
    request.fd.store(fd, Ordering::Relaxed);
    request.state.store(ASKED, Ordering::Release);
    ask(&progress.want);
    if !wait_until(progress, || change(DONE, FREE)) && !change(ASKED, FREE) {
        change(DONE, FREE);
    }
}

fn wait_until(progress: &Progress, done: impl Fn() -> bool) -> bool {
    let mut slices = 0;
    loop {
        let want = progress.want.load(Ordering::Relaxed);
        if done() {
            return true;
        }
        if slices == SLICES {
            return false;
        }
        if sleep(&progress.want, want) == Err(Errno(libc::ETIMEDOUT)) {
            slices += 1;
        }
    }
}

/// The parent's side.
#[derive(Debug, Default)]
pub(super) struct Keeper {
    kept: Vec<(u32, OwnedFd)>,
}

impl Keeper {
    /// Does what a process has asked, if one has.
    pub(super) fn serve(&mut self, progress: &Progress) {
        let request = &progress.keep;
        if request.state.load(Ordering::Acquire) != ASKED {
            return;
        }
        let (pid, fd) = (request.pid.load(Ordering::Relaxed), request.fd.load(Ordering::Relaxed));
        if fd == NONE {
            self.silence(pid);
        } else if let Ok(event) = duplicate(pid, fd) {
            if self.kept.len() >= MANY {
                self.kept.retain(|(pid, _)| is_alive(*pid));
            }
            self.kept.push((pid, event));
        }
        let answered =
            request.state.compare_exchange(ASKED, DONE, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        if answered {
            ask(&progress.want);
        }
    }

    fn silence(&mut self, pid: u32) {
        /// `_IO('$', 1)` (Linux `include/uapi/linux/perf_event.h`).
        const PERF_EVENT_IOC_DISABLE: u64 = 0x2401;
        for (_, event) in self.kept.extract_if(.., |(owner, _)| *owner == pid) {
            // SAFETY: our own descriptor, and a request without an argument.
            let _ =
                unsafe { call(libc::SYS_ioctl, [event.as_raw_fd() as u64, PERF_EVENT_IOC_DISABLE, 0, 0]) };
        }
    }

    /// How often the triggers of the process `pid` have been hit, by their own count: entries that no handler saw, too.
    pub(super) fn hits(&self, pid: u32) -> u64 {
        self.kept.iter().filter(|(owner, _)| *owner == pid).map(|(_, event)| count(event)).sum()
    }
}

/// A descriptor of ours for `fd` of another process.
fn duplicate(pid: u32, fd: i32) -> Result<OwnedFd, Errno> {
    // SAFETY: no pointers among the arguments; each descriptor that comes back is nobody else's.
    unsafe {
        let process = OwnedFd::from_raw_fd(call(libc::SYS_pidfd_open, [pid.into(), 0, 0, 0])? as i32);
        let fd = call(libc::SYS_pidfd_getfd, [process.as_raw_fd() as u64, fd as u64, 0, 0])?;
        Ok(OwnedFd::from_raw_fd(fd as i32))
    }
}

fn is_alive(pid: u32) -> bool {
    // SAFETY: no pointers among the arguments.
    let asked = unsafe { call(libc::SYS_kill, [pid.into(), 0, 0, 0]) };
    asked != Err(Errno(libc::ESRCH))
}

/// The first word of what a perf event reads as, whatever its read_format.
fn count(event: &OwnedFd) -> u64 {
    let mut words = [0_u64; 8];
    let length = size_of_val(&words) as u64;
    // SAFETY: a live buffer of that length.
    let got =
        unsafe { call(libc::SYS_read, [event.as_raw_fd() as u64, words.as_mut_ptr() as u64, length, 0]) };
    got.map_or(0, |_| words[0])
}

/// # Safety
/// As [`syscall`].
unsafe fn call(number: i64, arguments: [u64; 4]) -> Result<u64, Errno> {
    let [a, b, c, d] = arguments;
    // SAFETY: the caller's promise.
    unsafe { syscall(number, [a, b, c, d, 0, 0]) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_kept_descriptor_outlives_its_first_one() {
        let progress = Progress::default();
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let pid = std::process::id();
        let mut keeper = Keeper::default();
        std::thread::scope(|scope| {
            scope.spawn(|| keep(&progress, pid, ours.as_raw_fd()));
            while keeper.kept.is_empty() {
                keeper.serve(&progress);
                std::thread::yield_now();
            }
        });
        assert_eq!(progress.keep.state.load(Ordering::Relaxed), FREE, "the next one may ask");
        drop(ours);
        theirs.set_nonblocking(true).unwrap();
        let mut byte = [0];
        let open = theirs.read(&mut byte).unwrap_err();
        assert_eq!(open.kind(), std::io::ErrorKind::WouldBlock, "still open");
        drop(keeper);
        assert_eq!(theirs.read(&mut byte).unwrap(), 0, "closed with the last descriptor");
    }

    #[test]
    fn nobody_waits_for_a_parent_that_is_gone() {
        let progress = Progress::default();
        keep(&progress, 1, 0);
        assert_eq!(progress.keep.state.load(Ordering::Relaxed), FREE);
    }
}
