//! The parent's side of the trace file: it creates it, lengthens it ahead of the writers, and closes it.
//!
//! A store behind a file's end is SIGBUS, and so is one into a hole of a full file system; therefore space is
//! allocated, not just promised, before [`Progress::room`](super::control::Progress::room) admits anyone to it.

use std::fs::File;
use std::io;
use std::mem::offset_of;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::posix_fallocate;

use super::chunk_bytes;
use super::counters::Counters;
use super::header::TraceHeader;
use super::keep::Keeper;
use super::layout::{CHUNK_ALIGN, CHUNK_HEADER};
use super::room::{ask, give_up, sleep};
use super::shared_control::SharedControl;

/// The least room ahead of the writers, in bytes.
const LEAST: u64 = 1 << 20;
/// The most, so that a long trace does not claim a file system that it may never fill.
const MOST: u64 = 64 << 20;

/// A trace file that grows, until [`Growth::finish`]. Dropped without it, the file stays readable but has no `End`.
///
/// The process must ignore SIGXFSZ: at `ulimit -f` the file then stops growing with EFBIG instead of killing it.
#[derive(Debug)]
pub struct Growth {
    file: Arc<File>,
    control: Arc<SharedControl>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Keeper>>,
}

impl Growth {
    /// Empties `file` (open for reading and writing), writes the header, makes room, and keeps making room in a
    /// thread of its own. Programs that map the file may start now.
    ///
    /// # Errors
    /// What ftruncate(2), pwrite(2), posix_fallocate(3) or clone(2) said; ENOSPC and EFBIG among them.
    pub fn start(file: File, header: &TraceHeader, control: Arc<SharedControl>) -> io::Result<Self> {
        let file = Arc::new(file);
        file.set_len(0)?;
        let mut bytes = header.to_bytes()?;
        let counters_at = (bytes.len() + CHUNK_HEADER) as u64;
        bytes.extend_from_slice(&chunk_bytes::counters());
        file.write_all_at(&bytes, 0)?;
        let used = bytes.len() as u64;
        allocate(&file, used, LEAST)?;
        control.counters_at.store(counters_at, Ordering::Relaxed);
        control.progress.used.store(used, Ordering::Relaxed);
        control.progress.room.store(used + LEAST, Ordering::Release);
        let stop = Arc::new(AtomicBool::new(false));
        let worker =
            Worker { file: Arc::clone(&file), control: Arc::clone(&control), stop: Arc::clone(&stop) };
        let thread =
            std::thread::Builder::new().name("trace growth".to_owned()).spawn(move || worker.run())?;
        Ok(Self { file, control, stop, thread: Some(thread) })
    }

    /// Closes the trace: no writer gets room any more, the file is cut to what was handed out, and says how the
    /// program ended. The file's final length, in bytes.
    ///
    /// # Errors
    /// What pwrite(2) or ftruncate(2) said. The file is readable all the same.
    pub fn finish(mut self, wait_status: i32, elapsed: Duration) -> io::Result<u64> {
        let keeper = self.join();
        let progress = &self.control.progress;
        give_up(progress, libc::ESHUTDOWN);
        // ATOMICS: SeqCst, as in `room::wait_for`: a writer that still saw room has added its bytes to `used` before
        // this swap, so the file is never cut under it.
        let room = progress.room.swap(0, Ordering::SeqCst);
        let used = progress.used.load(Ordering::SeqCst).min(room).next_multiple_of(CHUNK_ALIGN);
        let nanoseconds = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
        if let Some(keeper) = keeper {
            let hits = keeper.hits(progress.owner.load(Ordering::Acquire));
            let hits = hits.saturating_sub(progress.trigger_again.load(Ordering::Relaxed));
            let at =
                self.control.counters_at.load(Ordering::Relaxed) + offset_of!(Counters, trigger_hits) as u64;
            self.file.write_all_at(&hits.to_le_bytes(), at)?;
        }
        let end = chunk_bytes::end(wait_status, nanoseconds);
        let length = used + end.len() as u64;
        // Cut before writing: on a full file system that is what makes room for the end.
        self.file.set_len(used)?;
        self.file.write_all_at(&end, used)?;
        Ok(length)
    }

    fn join(&mut self) -> Option<Keeper> {
        self.stop.store(true, Ordering::Relaxed);
        ask(&self.control.progress.want);
        // A panic in the worker means no more room, which the writers find out by themselves.
        self.thread.take()?.join().ok()
    }
}

impl Drop for Growth {
    fn drop(&mut self) {
        self.join();
    }
}

struct Worker {
    file: Arc<File>,
    control: Arc<SharedControl>,
    stop: Arc<AtomicBool>,
}

impl Worker {
    fn run(&self) -> Keeper {
        let mut keeper = Keeper::default();
        let progress = &self.control.progress;
        while !self.stop.load(Ordering::Relaxed) {
            let want = progress.want.load(Ordering::Acquire);
            keeper.serve(progress);
            let used = progress.used.load(Ordering::Relaxed);
            let room = progress.room.load(Ordering::Relaxed);
            let ahead = used.clamp(LEAST, MOST);
            if used + ahead / 2 <= room {
                let _woken = sleep(&progress.want, want);
                continue;
            }
            let goal = used + ahead;
            if let Err(error) = allocate(&self.file, room, goal - room) {
                give_up(progress, error.raw_os_error().unwrap_or(libc::EIO));
                ask(&progress.want);
                return keeper;
            }
            // ATOMICS: release, after the file is that long; writers load by acquire.
            progress.room.store(goal, Ordering::Release);
            ask(&progress.want);
        }
        keeper
    }
}

/// Makes `length` bytes from `offset` on exist, on disk and not just by name.
fn allocate(file: &File, offset: u64, length: u64) -> io::Result<()> {
    let too_long = |_| io::Error::from(Errno::EFBIG);
    let offset = i64::try_from(offset).map_err(too_long)?;
    let length = i64::try_from(length).map_err(too_long)?;
    loop {
        match posix_fallocate(file, offset, length) {
            Err(Errno::EINTR) => {}
            result => return result.map_err(io::Error::from),
        }
    }
}
