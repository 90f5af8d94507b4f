//! `mmap(2)` of an event: the program gets a hidden memfd in its place, which it makes itself, because it may have no way to the
//! supervisor's files.

use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::unistd::Pid;

use crate::address::RuntimeAddr;
use crate::emulate::call::{Answer, Then};
use crate::emulate::descriptors;
use crate::emulate::event::Key;
use crate::emulate::inject::Injection;
use crate::emulate::memory::Scratch;
use crate::emulate::ptrace::Registers;
use crate::emulate::ring::{self, PAGE, Reader, Ring, RingMapping};
use crate::emulate::supervisor::Supervisor;

/// How the address of a ring is known to be the program's choice (`mmap(2)`).
const FIXED: i32 = libc::MAP_FIXED | libc::MAP_FIXED_NOREPLACE;
const ANY_CPU: i32 = -1;

impl Supervisor {
    /// `mmap(address, length, protection, flags, descriptor, offset)`.
    pub(super) fn map(&mut self, thread: Pid, registers: &Registers) -> Result<Answer, Errno> {
        let (protection, flags) = (registers.rdx as i32, registers.r10 as i32);
        let anonymous = flags & libc::MAP_ANONYMOUS != 0;
        let event = if anonymous { None } else { self.event_of(thread, registers.r8) };
        let replaces = match flags & libc::MAP_FIXED {
            0 => Answer::Kernel(Then::Nothing),
            _ => self.unmaps(thread, RuntimeAddr(registers.rdi), registers.rsi),
        };
        let Some(key) = event else {
            if replaces != Answer::Kernel(Then::Nothing) {
                return Ok(replaces);
            }
            let executable = protection & libc::PROT_EXEC != 0;
            return Ok(Answer::Kernel(if executable { Then::Mapped } else { Then::Nothing }));
        };
        let reader = if protection & libc::PROT_WRITE != 0 { Reader::Consumes } else { Reader::Looks };
        let pages = match self.pages(key, registers) {
            Ok(pages) => pages,
            Err(errno) => return Ok(Answer::Error(errno)),
        };
        if matches!(replaces, Answer::Error(_)) {
            return Ok(replaces);
        }
        let Some(process) = self.threads.get(&thread).map(|it| it.process) else { return Err(Errno::ESRCH) };
        let Some(event) = self.events.get_mut(key) else { return Ok(Answer::Error(Errno::EBADF)) };
        // A second mapping is of the same buffer, which is then the supervisor's to hand out.
        let (call, name) = match &event.ring {
            Some(ring) => {
                (libc::SYS_openat, format!("/proc/{}/fd/{}\0", std::process::id(), ring.file.as_raw_fd()))
            }
            None => (libc::SYS_memfd_create, format!("{}\0", ring::name(event.id))),
        };
        let Ok(name) = Scratch::write(thread, registers, name.as_bytes()) else {
            return Ok(Answer::Error(Errno::ENOMEM));
        };
        let mut injection = Injection::begin(thread, *registers, &mut self.reports)?;
        let arguments = match call {
            libc::SYS_openat => {
                [libc::AT_FDCWD as u64, name.at.0, (libc::O_RDWR | libc::O_CLOEXEC) as u64, 0, 0, 0]
            }
            _ => [name.at.0, libc::MFD_CLOEXEC.into(), 0, 0, 0, 0],
        };
        let file = injection.call(call, arguments)?;
        name.put_back(thread)?;
        let result = match file {
            Ok(descriptor) => {
                let made = match &event.ring {
                    Some(_) => Ok(None),
                    None => descriptors::duplicate(process, descriptor as i32)
                        .and_then(|file| Ring::new(file, pages, reader, &event.attr).map(Some)),
                };
                let mapped = match made {
                    Ok(ring) => {
                        let map = [registers.rdi, registers.rsi, registers.rdx, registers.r10, descriptor, 0];
                        let mapped = injection.call(libc::SYS_mmap, map)?;
                        if mapped.is_ok() && ring.is_some() {
                            event.ring = ring;
                        }
                        mapped
                    }
                    Err(errno) => Err(errno),
                };
                if let Ok(at) = mapped {
                    // A child has no part in it (VM_DONTCOPY).
                    let whole = [at, registers.rsi, libc::MADV_DONTFORK as u64, 0, 0, 0];
                    let _ = injection.call(libc::SYS_madvise, whole)?;
                }
                let _ = injection.call(libc::SYS_close, [descriptor, 0, 0, 0, 0, 0])?;
                mapped
            }
            Err(errno) => Err(errno),
        };
        injection.end(result)?;
        if let Ok(at) = result {
            if registers.r10 as i32 & FIXED == libc::MAP_FIXED {
                self.unmapped();
            }
            let length = registers.rsi.next_multiple_of(PAGE as u64);
            self.mappings.push(RingMapping { process, start: RuntimeAddr(at), length });
            // There is something to wait for now.
            self.settle(key);
        }
        Ok(Answer::Made)
    }

    /// The rules of `perf_mmap` (Linux `kernel/events/core.c`): how many pages of data the buffer is to have.
    fn pages(&self, key: Key, registers: &Registers) -> Result<usize, Errno> {
        let Some(event) = self.events.get(key) else { return Err(Errno::EBADF) };
        let (length, offset) = ((registers.rsi as usize).next_multiple_of(PAGE), registers.r9);
        // No code comes from a file of no file system (`fs/anon_inodes.c`, SB_I_NOEXEC).
        if length > 0 && registers.rdx & libc::PROT_EXEC as u64 != 0 {
            return Err(Errno::EPERM);
        }
        // An inherited event's copies would all write to one buffer, from all CPUs.
        let shared_by_cpus = event.cpu == ANY_CPU && event.attr.inherit() == 1;
        let private = registers.r10 as i32 & libc::MAP_SHARED == 0;
        if shared_by_cpus || private || offset != 0 || length < PAGE {
            return Err(Errno::EINVAL);
        }
        let pages = length / PAGE - 1;
        let owner = self.events.written_by(key).and_then(|it| self.events.get(it));
        let ring = owner.and_then(|event| event.ring.as_ref());
        if pages != 0 && !pages.is_power_of_two() || ring.is_some_and(|ring| ring.pages() != pages) {
            return Err(Errno::EINVAL);
        }
        // It writes to another's buffer, which is that event's to map.
        if event.output.is_some() {
            return Err(Errno::EBUSY);
        }
        // The kernel's list of them must be one allocation (`kernel/events/ring_buffer.c`, `rb_alloc`).
        if pages > MOST_PAGES { Err(Errno::ENOMEM) } else { Ok(pages) }
    }
}

/// 4 MiB of pointers, without the header.
const MOST_PAGES: usize = (4 << 20) / 8 - 64;
