//! `mmap(2)` of an event: the program gets a hidden memfd in its place, since an eventfd cannot be mapped.

use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::unistd::Pid;

use crate::address::RuntimeAddr;
use crate::emulate::call::{Answer, Then};
use crate::emulate::event::Key;
use crate::emulate::inject::Injection;
use crate::emulate::memory;
use crate::emulate::ptrace::Registers;
use crate::emulate::ring::{PAGE, Reader, Ring};
use crate::emulate::supervisor::Supervisor;

/// What leaf functions may use below the stack pointer (System V ABI, "red zone"), in bytes.
const RED_ZONE: u64 = 128;
const PATH_ROOM: usize = 64;
const ANY_CPU: i32 = -1;

impl Supervisor {
    /// `mmap(address, length, protection, flags, descriptor, offset)`.
    pub(super) fn map(&mut self, thread: Pid, registers: &Registers) -> Result<Answer, Errno> {
        let (protection, flags) = (registers.rdx as i32, registers.r10 as i32);
        let anonymous = flags & libc::MAP_ANONYMOUS != 0;
        let event = if anonymous { None } else { self.event_of(thread, registers.r8) };
        let Some(key) = event else {
            let executable = protection & libc::PROT_EXEC != 0;
            return Ok(Answer::Kernel(if executable { Then::Mapped } else { Then::Nothing }));
        };
        let reader = if protection & libc::PROT_WRITE != 0 { Reader::Consumes } else { Reader::Looks };
        if let Err(errno) = self.provide_ring(key, registers, reader) {
            return Ok(Answer::Error(errno));
        }
        let file = self.events.get(key).and_then(|event| event.ring.as_ref()).map(|it| it.file.as_raw_fd());
        let Some(file) = file else { return Ok(Answer::Error(Errno::EBADF)) };
        let path = format!("/proc/{}/fd/{file}\0", std::process::id());
        let room = RuntimeAddr((registers.rsp.wrapping_sub(RED_ZONE) & !0xf).wrapping_sub(PATH_ROOM as u64));
        let Ok(before) = memory::read::<PATH_ROOM>(thread, room) else {
            return Ok(Answer::Error(Errno::ENOMEM));
        };
        memory::write(thread, room, path.as_bytes())?;

        let mut injection = Injection::begin(thread, *registers, &mut self.reports)?;
        let open = [libc::AT_FDCWD as u64, room.0, (libc::O_RDWR | libc::O_CLOEXEC) as u64, 0, 0, 0];
        let result = match injection.call(libc::SYS_openat, open)? {
            Ok(descriptor) => {
                let map = [registers.rdi, registers.rsi, registers.rdx, registers.r10, descriptor, 0];
                let mapped = injection.call(libc::SYS_mmap, map)?;
                let _ = injection.call(libc::SYS_close, [descriptor, 0, 0, 0, 0, 0])?;
                mapped
            }
            Err(errno) => Err(errno),
        };
        injection.end(result)?;
        memory::write(thread, room, &before)?;
        // There is something to wait for now.
        if result.is_ok() {
            self.settle(key);
        }
        Ok(Answer::Made)
    }

    /// The rules of `perf_mmap` (Linux `kernel/events/core.c`).
    fn provide_ring(&mut self, key: Key, registers: &Registers, reader: Reader) -> Result<(), Errno> {
        let Some(event) = self.events.get_mut(key) else { return Err(Errno::EBADF) };
        let (length, offset) = (registers.rsi as usize, registers.r9);
        // An inherited event's copies would all write to one buffer, from all CPUs.
        let shared_by_cpus = event.cpu == ANY_CPU && event.attr.inherit() == 1;
        let private = registers.r10 as i32 & libc::MAP_SHARED == 0;
        if shared_by_cpus || private || offset != 0 || length < PAGE || !length.is_multiple_of(PAGE) {
            return Err(Errno::EINVAL);
        }
        let pages = length / PAGE - 1;
        if pages != 0 && !pages.is_power_of_two() {
            return Err(Errno::EINVAL);
        }
        match &event.ring {
            Some(ring) if ring.pages() == pages => Ok(()),
            Some(_) => Err(Errno::EINVAL),
            None => {
                event.ring = Some(Ring::new(event.id, pages, reader, &event.attr)?);
                Ok(())
            }
        }
    }
}
