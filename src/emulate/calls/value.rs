//! `read(2)` and `readv(2)` of an event (Linux `kernel/events/core.c`, `__perf_read`), and of what else is looked at.

use nix::errno::Errno;
use nix::unistd::Pid;

use crate::emulate::call::{Answer, Then};
use crate::emulate::event::Key;
use crate::emulate::memory::Pieces;
use crate::emulate::supervisor::Supervisor;
use crate::emulate::taken::is_signalfd;
use crate::emulate::{memory, read_format};

impl Supervisor {
    /// A read of `descriptor`, which is `event` if that is one of ours.
    pub(super) fn reads(
        &mut self,
        thread: Pid,
        event: Option<Key>,
        descriptor: u64,
        to: impl Fn() -> Result<Pieces, Errno>,
    ) -> Answer {
        if event.is_none() && !is_signalfd(thread, descriptor) {
            return Answer::Kernel(Then::Nothing);
        }
        match (to(), event) {
            (Ok(to), Some(event)) => self.read_value(thread, event, &to),
            (Ok(to), None) => Answer::Kernel(Then::TookSignals(to)),
            (Err(errno), Some(_)) => Answer::Error(errno),
            (Err(_), None) => Answer::Kernel(Then::Nothing),
        }
    }

    /// perf's descriptors know `read` only: the kernel calls it for each piece (`fs/read_write.c`, `do_loop_readv_writev`).
    fn read_value(&mut self, thread: Pid, key: Key, to: &Pieces) -> Answer {
        let mut read = 0;
        for (at, room) in to.iter() {
            let bytes = read_format::values(&self.events, key);
            let length = bytes.len() as u64;
            let failed = match room < length {
                true => Err(Errno::ENOSPC),
                false => memory::write(thread, at, &bytes).map_err(|_| Errno::EFAULT),
            };
            match failed {
                Err(errno) if read == 0 => return Answer::Error(errno),
                Err(_) => break,
                Ok(()) => read += length,
            }
            if room != length {
                break;
            }
        }
        Answer::Value(read)
    }
}
