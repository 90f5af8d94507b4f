//! `read(2)` of an event (Linux `kernel/events/core.c`, `__perf_read`).

use nix::errno::Errno;
use nix::unistd::Pid;

use crate::address::RuntimeAddr;
use crate::emulate::call::Answer;
use crate::emulate::event::Key;
use crate::emulate::supervisor::Supervisor;
use crate::emulate::{memory, read_format};

impl Supervisor {
    pub(super) fn read_value(&mut self, thread: Pid, key: Key, to: RuntimeAddr, room: u64) -> Answer {
        let bytes = read_format::values(&self.events, key);
        if room < bytes.len() as u64 {
            return Answer::Error(Errno::ENOSPC);
        }
        match memory::write(thread, to, &bytes) {
            Ok(()) => Answer::Value(bytes.len() as u64),
            Err(_) => Answer::Error(Errno::EFAULT),
        }
    }
}
