//! `fcntl(2)` of an event's descriptor. Owner and signal are kept by the kernel, which has them for any file; an
//! eventfd only lacks O_ASYNC.

use std::os::fd::RawFd;

use nix::errno::Errno;
use nix::unistd::Pid;

use crate::emulate::call::{Answer, Then};
use crate::emulate::event::Key;
use crate::emulate::ptrace;
use crate::emulate::supervisor::Supervisor;

impl Supervisor {
    /// `fcntl(descriptor, command, argument)`.
    pub(super) fn descriptor_control(&mut self, key: Key, call: (u64, u64, u64)) -> Answer {
        let (descriptor, command, argument) = call;
        match command as i32 {
            libc::F_SETFL => {
                // The kernel sets the other flags.
                let _ = self.set_async(key, descriptor, argument & libc::O_ASYNC as u64 != 0);
                Answer::Kernel(Then::Nothing)
            }
            libc::F_GETFL => Answer::Kernel(Then::ShowAsync(key)),
            _ => Answer::Kernel(Then::Nothing),
        }
    }

    pub(super) fn set_async(&mut self, key: Key, descriptor: u64, on: bool) -> Answer {
        if let Some(event) = self.events.get_mut(key) {
            // A number that is set already stays (`fs/fcntl.c`, `setfl`).
            event.asynchronous = on.then(|| event.asynchronous.unwrap_or(descriptor as RawFd));
        }
        Answer::Value(0)
    }

    pub(super) fn show_async(&mut self, thread: Pid, key: Key) -> Result<(), Errno> {
        let is_async = self.events.get(key).is_some_and(|event| event.asynchronous.is_some());
        let mut registers = ptrace::registers(thread)?;
        if is_async && registers.rax as i64 >= 0 {
            registers.rax |= libc::O_ASYNC as u64;
            ptrace::set_registers(thread, &registers)?;
        }
        Ok(())
    }
}
