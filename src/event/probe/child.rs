//! Runs a probe in a child that cannot hurt the process it comes from: not by dying, not by hanging, not by a
//! SIGCHLD that the program's own handler would see.

#![allow(unsafe_code, reason = "the child is made by a bare clone and must not touch libc")]

use std::ops::Deref;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, pthread_sigmask};

use super::failure::Failure;
use super::report::Report;
use crate::event::environment::emulated;
use crate::raw::{Errno, syscall};

/// No probe needs a tenth of it; only a kernel bug or a stopped machine does.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
/// Under our own emulator an instruction costs two context switches, which a busy machine makes wait.
const EMULATED_PATIENCE: Duration = Duration::from_secs(60);

/// How long a wait goes on without looking whether it is given up.
const GLANCE: Duration = Duration::from_millis(100);

/// What a child and its parent share.
///
/// # Safety
/// All zero bytes are a valid value, and both sides write it only through atomics.
pub(crate) unsafe trait Shared: Sync {}

// SAFETY:
// - it consists of atomics.
unsafe impl Shared for Report {}

/// Zeroed memory that parent and child share.
pub(crate) struct SharedMemory<S: Shared>(NonNull<S>);

/// Whether a process that traces this one also gets the child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tracer {
    /// A debugger does not stop at the child's own SIGTRAPs.
    Escaped,
    /// A software PMU counts in the child, too.
    Follows,
}

/// Runs `body` in a child until it returns: what it reported, or how it ended instead.
///
/// `body` is called in a copy of a process that may have many threads, so it must not call libc: locks may
/// be held for ever. Its child has every signal blocked, and ends without unwinding whatever happens.
pub(super) fn run<T>(
    body: impl FnOnce(&Report),
    judge: impl FnOnce(&Report) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let patience = if emulated().is_some() { EMULATED_PATIENCE } else { PATIENCE };
    let (report, end) = isolate(patience, || false, body)?;
    end?;
    judge(&report)
}

/// As [`run`], with shared memory of any type: what the child left there, and how it ended otherwise than by
/// returning. The child is killed when `patience` is at its end, or soon after `given_up` says so.
///
/// # Errors
/// [`Failure::NotStarted`]; the inner one [`Failure::TimedOut`] or [`Failure::Killed`].
#[allow(clippy::type_complexity, reason = "the memory is readable however the child ended")]
pub(crate) fn isolate<S: Shared>(
    patience: Duration,
    given_up: impl Fn() -> bool,
    body: impl FnOnce(&S),
) -> Result<(SharedMemory<S>, Result<(), Failure>), Failure> {
    let shared = SharedMemory::new()?;
    let tracer = if emulated().is_some() { Tracer::Follows } else { Tracer::Escaped };
    let before = block_everything()?;
    let cloned = clone_with_pidfd(tracer);
    if let Ok((0, _)) = cloned {
        let end = ExitOnDrop;
        harden();
        body(&shared);
        drop(end);
    }
    restore(&before);
    let (pid, pidfd) = cloned.map_err(|errno| Failure::NotStarted { errno: errno.0 })?;
    // SAFETY:
    // - clone succeeded with CLONE_PIDFD, so the kernel put a new descriptor there.
    let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
    let ended = ended_within(&pidfd, patience, given_up);
    if !ended {
        kill(pid);
    }
    let status = reap(pid);
    let end = match status {
        _ if !ended => Err(Failure::TimedOut { after: patience }),
        Some(status) if libc::WIFSIGNALED(status) => Err(Failure::Killed { signal: libc::WTERMSIG(status) }),
        _ => Ok(()),
    };
    Ok((shared, end))
}

impl<S: Shared> SharedMemory<S> {
    fn new() -> Result<Self, Failure> {
        const { assert!(align_of::<S>() <= 4096) };
        // SAFETY:
        // - a new anonymous mapping overlaps nothing.
        let page = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size_of::<S>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        let usable = if page == libc::MAP_FAILED { None } else { NonNull::new(page.cast()) };
        usable.map(Self).ok_or(Failure::NotStarted { errno: nix::errno::Errno::last_raw() })
    }
}

impl<S: Shared> Deref for SharedMemory<S> {
    type Target = S;

    fn deref(&self) -> &S {
        // SAFETY:
        // - the memory is mapped until drop, aligned, and zero is a valid value by the trait's contract;
        // - both processes write it only through atomics.
        unsafe { self.0.as_ref() }
    }
}

impl<S: Shared> Drop for SharedMemory<S> {
    fn drop(&mut self) {
        // SAFETY:
        // - mapped by `new` with this size, and no reference outlives `self`.
        unsafe { libc::munmap(self.0.as_ptr().cast(), size_of::<S>()) };
    }
}

/// Ends the child when it goes out of scope, also when a bug unwinds through it.
struct ExitOnDrop;

impl Drop for ExitOnDrop {
    fn drop(&mut self) {
        // SAFETY: exit_group takes a number and does not return.
        let _ = unsafe { syscall(libc::SYS_exit_group, [0; 6]) };
    }
}

/// Blocks all signals, so that none of the program's handlers runs in the child.
fn block_everything() -> Result<SigSet, Failure> {
    let mut before = SigSet::empty();
    pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::all()), Some(&mut before))
        .map_err(|errno| Failure::NotStarted { errno: errno as i32 })?;
    Ok(before)
}

fn restore(before: &SigSet) {
    // A valid mask cannot be refused.
    let _ = pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(before), None);
}

/// Forks: (0, _) in the child, (its id, its pidfd) in the parent. Without an exit signal, so that the program
/// neither sees a SIGCHLD nor reaps the child by waiting for any of its own (`clone(2)`, 5.2 for CLONE_PIDFD).
fn clone_with_pidfd(tracer: Tracer) -> Result<(u32, i32), Errno> {
    let flags = match tracer {
        Tracer::Escaped => libc::CLONE_PIDFD | libc::CLONE_UNTRACED,
        Tracer::Follows => libc::CLONE_PIDFD,
    };
    let mut pidfd = -1i32;
    // SAFETY:
    // - no CLONE_VM: the child has a copy of everything, the stack included;
    // - `pidfd` is live and takes the 4 bytes that CLONE_PIDFD writes.
    let pid = unsafe { syscall(libc::SYS_clone, [flags as u64, 0, (&raw mut pidfd) as u64, 0, 0, 0]) }?;
    Ok((pid as u32, pidfd))
}

/// Ends with the parent, and leaves no core file when a probe kills it.
fn harden() {
    // SAFETY: both options take numbers only.
    let _ = unsafe {
        syscall(libc::SYS_prctl, [libc::PR_SET_PDEATHSIG as u64, libc::SIGKILL as u64, 0, 0, 0, 0])
    };
    // SAFETY: as above.
    let _ = unsafe { syscall(libc::SYS_prctl, [libc::PR_SET_DUMPABLE as u64, 0, 0, 0, 0, 0]) };
}

/// A signal that comes just before the wait does not interrupt it, so `given_up` is asked again after each [`GLANCE`].
fn ended_within(pidfd: &OwnedFd, patience: Duration, given_up: impl Fn() -> bool) -> bool {
    let deadline = Instant::now() + patience;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = PollTimeout::try_from(left.min(GLANCE)).unwrap_or(PollTimeout::ZERO);
        match poll(&mut [PollFd::new(pidfd.as_fd(), PollFlags::POLLIN)], timeout) {
            Ok(1..) => return true,
            Ok(_) | Err(_) if left.is_zero() || given_up() => return false,
            Ok(_) | Err(_) => {}
        }
    }
}

fn kill(pid: u32) {
    // SAFETY: kill takes numbers only; the child is not reaped yet, so the id is still its own.
    let _ = unsafe { syscall(libc::SYS_kill, [u64::from(pid), libc::SIGKILL as u64, 0, 0, 0, 0]) };
}

/// The wait status; `None` when someone else reaped the child.
fn reap(pid: u32) -> Option<i32> {
    let mut status = 0i32;
    loop {
        // SAFETY:
        // - `status` is live and takes the 4 bytes the kernel writes;
        // - __WALL, since a child without an exit signal counts as a clone.
        let waited = unsafe {
            let arguments = [u64::from(pid), (&raw mut status) as u64, libc::__WALL as u64, 0, 0, 0];
            syscall(libc::SYS_wait4, arguments)
        };
        match waited {
            Ok(_) => return Some(status),
            Err(Errno(libc::EINTR)) => {}
            Err(_) => return None,
        }
    }
}
