//! Breakpoint instructions in private copies of code pages: what stands in for a debug register where none is to be
//! had.
//!
//! One table for the process, since code is shared by its threads. A thread that has to run the instruction under a
//! patch runs a [copy](super::displaced); so does one that is to stop behind an instruction which the trap flag does not
//! stop behind. Where there can be none, it takes the patch out for that one instruction; another
//! thread that comes by in between is not stopped.

#![allow(unsafe_code, reason = "code is written through /proc/self/mem or a page made writable")]

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use super::displaced::{self, INT3, Slots};
use super::proc_file;
use super::saved::Saved;
use crate::address::RuntimeAddr;
use crate::image::decode::{MAX_LENGTH, Vendor};
use crate::image::memory::{Memory, OwnMemory};
use crate::raw::{self, Errno};
use crate::registers::RCX;

/// Places that can be patched in a process's life; a place that is used again keeps its entry.
const MOST: usize = 1 << 10;
const PAGE: u64 = 4096;

/// One place that is, or was, patched. `busy` is held for a few instructions and system calls, in handlers that
/// nothing interrupts: a thread never waits for itself.
struct Patch {
    /// 0 while free. ATOMICS: set once, under `busy`.
    address: AtomicU64,
    /// ATOMICS: taken (acquire) and released by whoever changes the others.
    busy: AtomicBool,
    original: AtomicU32,
    /// How many want it to stand.
    users: AtomicU32,
    /// How many threads are at the instruction under it.
    lifted: AtomicU32,
    /// ATOMICS: set (release) once its slot has a copy, and the exits are those of it.
    copied: AtomicBool,
    /// Behind the copy stands a breakpoint instruction.
    stops: AtomicBool,
    exits: [AtomicU64; 2],
}

/// Where a copy's original is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    /// The instruction has not run yet.
    At(RuntimeAddr),
    /// It has, and goes on here.
    Behind(RuntimeAddr),
    /// It has, and this is where the thread was to be stopped: by a breakpoint instruction behind the copy.
    Stopped(RuntimeAddr),
}

/// All of them. All zeros is none.
pub(super) struct Patches {
    places: [Patch; MOST],
    /// Entries in use, from the first on. ATOMICS: raised (release) once an entry's address is there.
    used: AtomicU32,
    slots: Slots,
}

impl Patches {
    /// Puts a breakpoint instruction at `address`, or one more wish for the one that stands there.
    ///
    /// # Errors
    /// EFAULT where there is no code, ENOSPC when the table is full, otherwise what open, pwrite or mprotect said.
    ///
    /// # Signal safety
    /// Atomics and raw system calls.
    pub(super) fn place(&self, address: RuntimeAddr, memory: OwnMemory, vendor: Vendor) -> Result<(), Errno> {
        let patch = self.find_or_make(address).ok_or(Errno(libc::ENOSPC))?;
        patch.change(|| {
            if patch.users.load(Ordering::Relaxed) == 0 {
                let mut original = [0];
                if !memory.read(address, &mut original) {
                    return Err(Errno(libc::EFAULT));
                }
                patch.original.store(original[0].into(), Ordering::Relaxed);
                self.copy_instruction(patch, address, memory, vendor);
            }
            // Counted before it can be seen: it is hidden from whoever reads it.
            let before = patch.users.fetch_add(1, Ordering::Release);
            let placed = if before == 0 && patch.lifted.load(Ordering::Relaxed) == 0 {
                write_code(address, &[INT3])
            } else {
                Ok(())
            };
            placed.inspect_err(|_| patch.users.store(before, Ordering::Relaxed))
        })
    }

    /// Maps the slots, whether they will be needed or not: what the program maps later lies where it does without patches.
    pub(super) fn reserve(&self) {
        let _ = self.slots.reserve(MOST);
    }

    /// Gives the slots back.
    ///
    /// # Safety
    /// No patch stands, and no thread runs a copy.
    pub(super) unsafe fn release(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.slots.unmap(MOST) };
    }

    /// A copy of the instruction at `address` that stops the thread behind it, patch or no patch. `None` where there is no
    /// room, and for instructions that the trap flag stops behind.
    ///
    /// # Signal safety
    /// As [`Self::place`].
    pub(super) fn stopping_copy(
        &self,
        address: RuntimeAddr,
        memory: OwnMemory,
        vendor: Vendor,
    ) -> Option<RuntimeAddr> {
        let patch = self.find_or_make(address)?;
        // A thread may be in it: it is written again only when other code has come to its place.
        let is_copied = || {
            let length = patch.exit(1).load(Ordering::Relaxed).wrapping_sub(address.0) as usize;
            let mut bytes = [[0; MAX_LENGTH]; 2];
            let [copied, now] = &mut bytes;
            let (copied, now) = (copied.get_mut(..length)?, now.get_mut(..length)?);
            let read = memory.read(self.copy_of(address)?, copied) && memory.read(address, now);
            (read && copied == now).then_some(())
        };
        patch.change(|| {
            if patch.users.load(Ordering::Relaxed) == 0 && is_copied().is_none() {
                self.copy_instruction(patch, address, memory, vendor);
            }
        });
        self.copy_of(address).filter(|_| patch.stops.load(Ordering::Relaxed))
    }

    /// Puts a copy of the instruction at `address`, which has no patch yet, into the slot of its entry.
    fn copy_instruction(&self, patch: &Patch, address: RuntimeAddr, memory: OwnMemory, vendor: Vendor) {
        let (mut code, length) = displaced::code_at(address, memory);
        let code = code.get_mut(..length).unwrap_or(&mut []);
        self.hide(address, code, memory);
        let number = self.places.iter().position(|place| std::ptr::eq(place, patch));
        let slot = number.and_then(|number| self.slots.slot(number, MOST, address));
        let copied = match slot.and_then(|slot| Some((slot, displaced::copy(address, slot, code, vendor)?))) {
            Some((slot, copy)) if write_code(slot, &copy.slot).is_ok() => {
                for (to, exit) in patch.exits.iter().zip(copy.exits) {
                    to.store(exit.0, Ordering::Relaxed);
                }
                patch.stops.store(copy.stops, Ordering::Relaxed);
                true
            }
            _ => false,
        };
        patch.copied.store(copied, Ordering::Release);
    }

    /// Where the instruction under the patch at `address` can be run without taking the patch out.
    pub(super) fn copy_of(&self, address: RuntimeAddr) -> Option<RuntimeAddr> {
        let number = self.in_use().position(|patch| patch.address.load(Ordering::Relaxed) == address.0)?;
        let copied = self.places.get(number)?.copied.load(Ordering::Acquire);
        if copied { self.slots.slot(number, MOST, address) } else { None }
    }

    /// Where the program is that is at `rip` in a copy: at the patch, or where the instruction under it went.
    pub(super) fn home_of(&self, rip: RuntimeAddr) -> Option<Home> {
        let (number, offset) = self.slots.find(rip, MOST)?;
        let patch = self.in_use().nth(number)?;
        if offset == 0 {
            return Some(Home::At(RuntimeAddr(patch.address.load(Ordering::Relaxed))));
        }
        let behind = RuntimeAddr(patch.exit(offset).load(Ordering::Relaxed));
        let stopped = patch.stops.load(Ordering::Relaxed);
        Some(if stopped { Home::Stopped(behind) } else { Home::Behind(behind) })
    }

    /// Has a frame show that is to be seen by the program: a copy is nowhere that it knows.
    pub(super) fn bring_home(&self, frame: &mut Saved<'_>) {
        let Some(Home::At(address) | Home::Behind(address) | Home::Stopped(address)) =
            self.home_of(frame.rip())
        else {
            return;
        };
        frame.go_to(address);
        // What `syscall` leaves there.
        let rcx = frame.registers(false).general[RCX];
        if let Some(Home::Stopped(behind)) = self.home_of(RuntimeAddr(rcx)) {
            frame.set_general(RCX, behind.0);
        }
    }

    /// Takes one wish back, and with the last one the instruction.
    pub(super) fn lift(&self, address: RuntimeAddr, memory: OwnMemory) {
        let Some(patch) = self.find(address) else { return };
        patch.change(|| {
            let before = patch.users.load(Ordering::Relaxed);
            if before == 1 && patch.lifted.load(Ordering::Relaxed) == 0 {
                patch.restore(address, memory);
            }
            patch.users.store(before.saturating_sub(1), Ordering::Release);
        });
    }

    /// Whether a breakpoint instruction of ours is wanted at `address`.
    pub(super) fn stands_at(&self, address: RuntimeAddr) -> bool {
        self.find(address).is_some_and(|patch| patch.users.load(Ordering::Acquire) != 0)
    }

    /// Whether the trap of a breakpoint instruction at `address` is ours: one of the program's own may lie beneath.
    pub(super) fn trapped_at(&self, address: RuntimeAddr) -> bool {
        self.find(address).is_some_and(|patch| {
            patch.lifted.load(Ordering::Acquire) == 0
                || patch.original.load(Ordering::Relaxed) != u32::from(INT3)
        })
    }

    /// The calling thread is about to run the instruction under the patch: takes it out until
    /// [`stepped_over`](Self::stepped_over).
    pub(super) fn step_over(&self, address: RuntimeAddr, memory: OwnMemory) {
        let Some(patch) = self.find(address) else { return };
        patch.change(|| {
            if patch.lifted.fetch_add(1, Ordering::Relaxed) == 0 {
                patch.restore(address, memory);
            }
        });
    }

    pub(super) fn stepped_over(&self, address: RuntimeAddr) {
        let Some(patch) = self.find(address) else { return };
        patch.change(|| {
            let before = patch.lifted.load(Ordering::Relaxed);
            patch.lifted.store(before.saturating_sub(1), Ordering::Relaxed);
            if before == 1 && patch.users.load(Ordering::Relaxed) != 0 {
                let _ = write_code(address, &[INT3]);
            }
        });
    }

    /// Puts the original bytes into `bytes`, which were read at `at`; a patch may have been taken out since.
    pub(super) fn hide(&self, at: RuntimeAddr, bytes: &mut [u8], memory: OwnMemory) {
        for patch in self.in_use() {
            let address = RuntimeAddr(patch.address.load(Ordering::Relaxed));
            let offset = address.0.wrapping_sub(at.0);
            if let Some(byte) = usize::try_from(offset).ok().and_then(|offset| bytes.get_mut(offset))
                && *byte == INT3
                && (patch.users.load(Ordering::Acquire) != 0 || !stands(address, memory))
            {
                *byte = patch.original.load(Ordering::Relaxed) as u8;
            }
        }
    }

    /// Takes all of them out for good.
    pub(super) fn clear(&self, memory: OwnMemory) {
        for patch in self.in_use() {
            patch.change(|| {
                patch.users.store(0, Ordering::Relaxed);
                patch.restore(RuntimeAddr(patch.address.load(Ordering::Relaxed)), memory);
            });
        }
    }

    /// In a forked child: other threads of the parent, and what they held, are not there.
    pub(super) fn forget_threads(&self) {
        for patch in self.in_use() {
            patch.lifted.store(0, Ordering::Relaxed);
            patch.busy.store(false, Ordering::Release);
        }
    }

    fn in_use(&self) -> impl Iterator<Item = &Patch> {
        let used = self.used.load(Ordering::Acquire) as usize;
        self.places.iter().take(used)
    }

    fn find(&self, address: RuntimeAddr) -> Option<&Patch> {
        self.in_use().find(|patch| patch.address.load(Ordering::Relaxed) == address.0)
    }

    fn find_or_make(&self, address: RuntimeAddr) -> Option<&Patch> {
        loop {
            if let Some(patch) = self.find(address) {
                return Some(patch);
            }
            let used = self.used.load(Ordering::Acquire);
            let patch = self.places.get(used as usize)?;
            // Whoever gets the place publishes it; the others look again.
            if patch.address.compare_exchange(0, address.0, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                self.used.store(used + 1, Ordering::Release);
                return Some(patch);
            }
            std::hint::spin_loop();
        }
    }
}

impl Patch {
    /// Runs `change` while no other thread changes this patch.
    fn change<T>(&self, change: impl FnOnce() -> T) -> T {
        while self.busy.swap(true, Ordering::Acquire) {
            std::hint::spin_loop();
        }
        let result = change();
        self.busy.store(false, Ordering::Release);
        result
    }

    /// Which exit of its copy is the one that the byte at `offset` of the slot leads to.
    fn exit(&self, offset: u64) -> &AtomicU64 {
        let [first, second] = &self.exits;
        if offset < displaced::SECOND_EXIT { first } else { second }
    }

    /// Writes the original byte back, unless the code there is another by now.
    fn restore(&self, address: RuntimeAddr, memory: OwnMemory) {
        if stands(address, memory) {
            let _ = write_code(address, &[self.original.load(Ordering::Relaxed) as u8]);
        }
    }
}

/// Whether a breakpoint instruction is at `address`, one of ours or of the program's.
fn stands(address: RuntimeAddr, memory: OwnMemory) -> bool {
    let mut now = [0];
    memory.read(address, &mut now) && now == [INT3]
}

/// Writes code: the way a debugger does, which leaves the page's protection alone; where /proc or a
/// descriptor is not to be had, through a page that is writable for a moment.
fn write_code(at: RuntimeAddr, bytes: &[u8]) -> Result<(), Errno> {
    let length = bytes.len() as u64;
    let written = proc_file::with(proc_file::MEM, libc::O_WRONLY, |fd| {
        // SAFETY: live bytes, and a descriptor that is open.
        unsafe { raw::syscall(libc::SYS_pwrite64, [fd, bytes.as_ptr() as u64, length, at.0, 0, 0]) }
    });
    match written {
        Ok(Ok(written)) if written == length => Ok(()),
        _ => write_unprotected(at, bytes),
    }
}

/// As [`write_code`], within one page.
fn write_unprotected(at: RuntimeAddr, bytes: &[u8]) -> Result<(), Errno> {
    let page = at.0 & !(PAGE - 1);
    let protect = |protection: i32| {
        // SAFETY: a page of code, which stays executable all the time; it is written below.
        unsafe { raw::syscall(libc::SYS_mprotect, [page, PAGE, protection as u64, 0, 0, 0]) }
    };
    protect(libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC)?;
    for (place, byte) in bytes.iter().enumerate() {
        // SAFETY: the page has just been made writable; of code that may be running, one byte is written at once.
        unsafe { (at.0 as *mut u8).wrapping_add(place).write_volatile(*byte) };
    }
    protect(libc::PROT_READ | libc::PROT_EXEC).map(|_| ())
}
