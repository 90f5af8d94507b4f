//! What becomes of a ring buffer's mapping. It stays whole (Linux `kernel/events/core.c`, `perf_mmap_may_split`), does not grow
//! (VM_DONTEXPAND), and holds no code.

use nix::errno::Errno;
use nix::unistd::Pid;

use crate::address::RuntimeAddr;
use crate::emulate::call::{Answer, Then};
use crate::emulate::event::Key;
use crate::emulate::ptrace::{self, Registers};
use crate::emulate::ring::{PAGE, RingMapping};
use crate::emulate::supervisor::Supervisor;

impl Supervisor {
    /// `munmap(address, length)`, and `mmap` that puts something else there.
    pub(super) fn unmaps(&self, thread: Pid, at: RuntimeAddr, length: u64) -> Answer {
        match self.ring_in(thread, at, length) {
            Held::Nothing => Answer::Kernel(Then::Nothing),
            Held::Part => Answer::Error(Errno::EINVAL),
            Held::Whole => Answer::Kernel(Then::RingUnmapped),
        }
    }

    /// `mprotect(address, length, protection)`.
    pub(super) fn protects(&self, thread: Pid, at: RuntimeAddr, length: u64, protection: u64) -> Answer {
        match self.ring_in(thread, at, length) {
            Held::Nothing => Answer::Kernel(Then::Nothing),
            _ if protection & libc::PROT_EXEC as u64 != 0 => Answer::Error(Errno::EACCES),
            Held::Part => Answer::Error(Errno::EINVAL),
            Held::Whole => Answer::Kernel(Then::Nothing),
        }
    }

    /// `mremap(address, length, new length, flags, new address)`.
    pub(super) fn moves(&self, thread: Pid, registers: &Registers) -> Answer {
        let at = RuntimeAddr(registers.rdi);
        let [length, new] = [registers.rsi, registers.rdx].map(whole_pages);
        let replaces = match registers.r10 & libc::MREMAP_FIXED as u64 {
            0 => Answer::Kernel(Then::Nothing),
            _ => self.unmaps(thread, RuntimeAddr(registers.r8), new),
        };
        let held = self.ring_in(thread, at, length.max(1));
        if held == Held::Nothing || matches!(replaces, Answer::Error(_)) {
            return replaces;
        }
        if new > length {
            return Answer::Error(Errno::EFAULT);
        }
        let cut_off = self.ring_in(thread, at.plus(new), length - new);
        // In its place, a part of the length that it has is left alone.
        let moves = registers.r10 & libc::MREMAP_FIXED as u64 != 0;
        if cut_off == Held::Part || moves && held == Held::Part {
            return Answer::Error(Errno::EINVAL);
        }
        Answer::Kernel(Then::RingMoved(at))
    }

    /// Whether there is a ring in the `length` bytes from `at` on.
    fn ring_in(&self, thread: Pid, at: RuntimeAddr, length: u64) -> Held {
        let process = self.threads.get(&thread).map(|it| it.process);
        let end = at.0.saturating_add(whole_pages(length));
        let held = self.mappings.iter().filter(|it| Some(it.process) == process).map(|it| {
            let its_end = it.start.0 + it.length;
            if its_end <= at.0 || end <= it.start.0 || length == 0 {
                Held::Nothing
            } else if it.start.0 < at.0 || end < its_end {
                Held::Part
            } else {
                Held::Whole
            }
        });
        held.max().unwrap_or(Held::Nothing)
    }

    /// Takes the buffer from the events whose last mapping has gone, and from those that write to it.
    pub(super) fn unmapped(&mut self) {
        self.mappings.retain(RingMapping::is_there);
        let gone: Vec<Key> = self
            .events
            .iter()
            .filter(|(_, event)| event.ring.is_some() && !self.is_mapped(event))
            .map(|(key, _)| key)
            .collect();
        for key in gone {
            if let Some(event) = self.events.get_mut(key) {
                event.ring = None;
            }
            let writers = self.events.detach_writers(key);
            writers.into_iter().chain([key]).for_each(|key| self.settle(key));
        }
        self.look_for_closed();
    }

    pub(super) fn moved(&mut self, thread: Pid, from: RuntimeAddr) -> Result<(), Errno> {
        let to = ptrace::registers(thread)?.rax;
        let process = self.threads.get(&thread).map(|it| it.process);
        let is_it = |it: &&mut RingMapping| Some(it.process) == process && it.start == from;
        if (to as i64) > 0
            && let Some(it) = self.mappings.iter_mut().find(is_it)
        {
            it.start = RuntimeAddr(to);
        }
        // Another's may have lain there.
        self.unmapped();
        Ok(())
    }
}

/// How much of a ring's mapping lies in a range: of several, the part is what a call fails by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Held {
    Nothing,
    Whole,
    Part,
}

const fn whole_pages(length: u64) -> u64 {
    let page = PAGE as u64;
    length.saturating_add(page - 1) / page * page
}
