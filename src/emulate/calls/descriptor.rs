//! `fcntl(2)` of an event's descriptor. Owner and signal are kept by the kernel, which has them for any file; what the pipe
//! that stands for an event must not have is O_ASYNC, whose signals are the supervisor's to send.

use std::os::fd::RawFd;

use nix::errno::Errno;
use nix::unistd::Pid;

use crate::emulate::call::{Answer, Then};
use crate::emulate::event::Key;
use crate::emulate::ptrace::{self, Registers};
use crate::emulate::supervisor::Supervisor;

impl Supervisor {
    /// `fcntl(descriptor, command, argument)`.
    pub(super) fn descriptor_control(
        &mut self,
        thread: Pid,
        key: Key,
        registers: &Registers,
    ) -> Result<Answer, Errno> {
        let (descriptor, command, argument) = (registers.rdi, registers.rsi, registers.rdx);
        Ok(Answer::Kernel(match command as i32 {
            libc::F_SETFL => {
                let asynchronous = libc::O_ASYNC as u64;
                let _ = self.set_async(key, descriptor, argument & asynchronous != 0);
                // The kernel sets the other flags.
                let others = Registers { rdx: argument & !asynchronous, ..*registers };
                ptrace::set_registers(thread, &others)?;
                Then::RestoreThird(argument)
            }
            libc::F_GETFL => Then::ShowFlags(key),
            _ => Then::Nothing,
        }))
    }

    pub(super) fn set_async(&mut self, key: Key, descriptor: u64, on: bool) -> Answer {
        if let Some(event) = self.events.get_mut(key) {
            // A number that is set already stays (`fs/fcntl.c`, `setfl`).
            event.asynchronous = on.then(|| event.asynchronous.unwrap_or(descriptor as RawFd));
        }
        Answer::Value(0)
    }

    /// An event is open for both, and perhaps asynchronous.
    pub(super) fn show_flags(&mut self, thread: Pid, key: Key) -> Result<(), Errno> {
        let is_async = self.events.get(key).is_some_and(|event| event.asynchronous.is_some());
        let mut registers = ptrace::registers(thread)?;
        if registers.rax as i64 >= 0 {
            registers.rax |= libc::O_RDWR as u64 | if is_async { libc::O_ASYNC as u64 } else { 0 };
            ptrace::set_registers(thread, &registers)?;
        }
        Ok(())
    }
}
