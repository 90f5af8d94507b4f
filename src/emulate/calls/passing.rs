//! Descriptors of events that go from process to process: through sockets (`unix(7)`, SCM_RIGHTS) and by `pidfd_getfd(2)`.

use nix::errno::Errno;
use nix::unistd::Pid;

use crate::address::RuntimeAddr;
use crate::emulate::call::{Answer, Messages, Then};
use crate::emulate::event::Key;
use crate::emulate::supervisor::Supervisor;
use crate::emulate::{memory, ptrace};

/// Fields of `struct msghdr` and `struct cmsghdr`, and the size of a `struct mmsghdr`, in bytes.
const CONTROL: u64 = 32;
const CONTROL_LENGTH: u64 = 40;
const CMSG_HEADER: u64 = 16;
const MMSGHDR: u64 = 64;
/// The most messages (`UIO_MAXIOV`), control bytes and descriptors in one of them (`SCM_MAX_FD`) that are looked at.
const MOST_MESSAGES: u64 = 1024;
const MOST_CONTROL: u64 = 1 << 16;

impl Supervisor {
    /// A message is to be sent: from the first event's descriptor on that goes into a socket, anybody may take it out.
    pub(super) fn sends(&mut self, thread: Pid, at: RuntimeAddr, messages: u64) -> Answer {
        let sent: Vec<Key> = (0..messages.min(MOST_MESSAGES))
            .flat_map(|it| self.events_in(thread, at.plus(it * MMSGHDR)))
            .collect();
        if sent.is_empty() {
            return Answer::Kernel(Then::Nothing);
        }
        self.count_on_the_way(&sent, 1);
        self.passed_on = true;
        self.processes().into_iter().for_each(|process| self.watch(process));
        Answer::Kernel(Then::Sent(sent))
    }

    pub(super) fn sent(&mut self, thread: Pid, sent: &[Key]) -> Result<(), Errno> {
        if (ptrace::registers(thread)?.rax as i64) < 0 {
            self.count_on_the_way(sent, -1);
        }
        Ok(())
    }

    pub(super) fn received(&mut self, thread: Pid, at: RuntimeAddr, messages: Messages) -> Result<(), Errno> {
        let result = ptrace::registers(thread)?.rax as i64;
        if result < 0 || self.events.is_empty() {
            return Ok(());
        }
        let number = match messages {
            Messages::One => 1,
            Messages::Several => (result as u64).min(MOST_MESSAGES),
        };
        for message in 0..number {
            let received = self.events_in(thread, at.plus(message * MMSGHDR));
            self.count_on_the_way(&received, -1);
        }
        Ok(())
    }

    /// Where a descriptor of another process's was taken, the taker is watched from now on.
    pub(super) fn got_descriptor(&mut self, thread: Pid) -> Result<(), Errno> {
        let descriptor = ptrace::registers(thread)?.rax;
        if self.event_of(thread, descriptor).is_some()
            && let Some(process) = self.threads.get(&thread).map(|it| it.process)
        {
            self.watch(process);
        }
        Ok(())
    }

    fn count_on_the_way(&mut self, keys: &[Key], more: i32) {
        for key in keys {
            if let Some(event) = self.events.get_mut(*key) {
                event.on_the_way = event.on_the_way.saturating_add_signed(more);
            }
        }
    }

    /// The events whose descriptors the message at `at` carries, one for each descriptor; none where it cannot be read.
    fn events_in(&self, thread: Pid, at: RuntimeAddr) -> Vec<Key> {
        let word = |at| memory::read(thread, at).map_or(0, u64::from_ne_bytes);
        let control = RuntimeAddr(word(at.plus(CONTROL)));
        let length = word(at.plus(CONTROL_LENGTH)).min(MOST_CONTROL);
        let mut found = Vec::new();
        let mut offset = 0;
        while control.0 != 0 && offset + CMSG_HEADER <= length {
            let header = control.plus(offset);
            let size = word(header).min(length - offset);
            if size < CMSG_HEADER {
                break;
            }
            let rights = u64::from(libc::SOL_SOCKET as u32) | u64::from(libc::SCM_RIGHTS as u32) << 32;
            if word(header.plus(8)) == rights {
                let descriptors = (CMSG_HEADER..size.saturating_sub(3)).step_by(4);
                found.extend(descriptors.filter_map(|place| {
                    let descriptor = memory::read(thread, header.plus(place)).ok().map(u32::from_ne_bytes)?;
                    self.event_of(thread, descriptor.into())
                }));
            }
            offset += size.next_multiple_of(8);
        }
        found
    }
}
