//! The thread's own perf events, opened and moved from signal context with raw system calls.

#![allow(unsafe_code, reason = "perf events are driven by raw system calls")]

use super::own_event::OwnEvent;
use super::process::Process;
use crate::address::RuntimeAddr;
use crate::event::attr::{Attr, point_at};
use crate::event::{ioctl, rearm};
use crate::raw::{self, Errno};
use crate::record::control::{Delivery, Rearm, Settings};

/// An execute breakpoint of the calling thread: a perf event, or where none is to be had, a patch.
pub(super) struct Breakpoint {
    process: &'static Process,
    /// No event could be opened.
    patches: bool,
    event: OwnEvent,
    attr: Attr,
    delivery: Delivery,
    rearm: Rearm,
    /// Where it stands while enabled.
    at: Option<RuntimeAddr>,
    /// Stops taken since it was opened.
    stops: u64,
    /// What it had counted when its count was last read.
    counted: u64,
}

/// What an event counted since the last look, and how much of that no handler saw.
#[derive(Clone, Copy)]
pub(super) struct Hits {
    pub(super) counted: u64,
    pub(super) missing: u64,
}

impl Breakpoint {
    /// One that is not open yet.
    pub(super) fn closed(process: &'static Process, attr: Attr, delivery: Delivery) -> Self {
        let Settings { rearm, patch, .. } = process.settings;
        let event = OwnEvent::none();
        Self { process, patches: patch, event, attr, delivery, rearm, at: None, stops: 0, counted: 0 }
    }

    /// The address it will fire at, while it is armed.
    pub(super) fn at(&self) -> Option<RuntimeAddr> {
        self.at
    }

    /// Puts it at `address`, armed, opening it if need be.
    ///
    /// # Errors
    /// The errno of perf_event_open(2) or of the ioctl, where a patch was not to be had either.
    ///
    /// # Signal safety
    /// Raw system calls only: perf_event_open and fcntl at the first call in a thread, ioctl afterwards.
    pub(super) fn place(&mut self, address: RuntimeAddr, signal: i32) -> Result<(), Errno> {
        if !self.patches {
            let refused = match self.place_event(address, signal) {
                Ok(()) => return Ok(()),
                Err(errno) => errno,
            };
            self.close();
            return self.place_patch(address).map_err(|_| refused).inspect(|()| self.patches = true);
        }
        self.place_patch(address)
    }

    fn place_patch(&mut self, address: RuntimeAddr) -> Result<(), Errno> {
        if self.at == Some(address) {
            return Ok(());
        }
        self.lift();
        self.process.place_patch(address)?;
        self.at = Some(address);
        Ok(())
    }

    fn place_event(&mut self, address: RuntimeAddr, signal: i32) -> Result<(), Errno> {
        point_at(&mut self.attr, address);
        let moved = self.event.fd() >= 0 && ioctl::modify(self.event.fd(), &self.attr).is_ok();
        if !moved {
            self.forget_if_closed();
            if self.event.fd() >= 0 {
                ioctl::modify(self.event.fd(), &self.attr)?;
            } else {
                self.event.open(&self.attr, self.delivery, signal)?;
            }
        }
        if matches!(self.delivery, Delivery::Fasync) {
            let arm = if moved { rearm::again } else { rearm::start };
            arm(self.event.fd(), self.rearm)?;
        }
        self.at = Some(address);
        Ok(())
    }

    /// Takes it out of the debug register; [`Self::place`] arms it again.
    pub(super) fn lift(&mut self) {
        let Some(at) = self.at.take() else { return };
        if self.patches {
            self.process.patches.lift(at, self.process.memory());
        } else {
            self.forget_if_closed();
            let _ = ioctl::disable(self.event.fd());
        }
    }

    /// One of its stops has been taken.
    pub(super) fn note_stop(&mut self) {
        self.stops += 1;
    }

    /// Its hits since the last call of this, by its own count. `None` when it is not open.
    pub(super) fn hits(&mut self) -> Option<Hits> {
        self.forget_if_closed();
        let now = if self.event.fd() < 0 { None } else { ioctl::count(self.event.fd()).ok() }?;
        let hits = Hits { counted: now.wrapping_sub(self.counted), missing: now.wrapping_sub(self.stops) };
        (self.counted, self.stops) = (now, now);
        Some(hits)
    }

    /// Closes it, whoever it belonged to.
    pub(super) fn close(&mut self) {
        if self.patches {
            self.lift();
        }
        self.event.close();
        self.forget();
    }

    /// Gives the number up when it no longer leads to our event: it may be a file of the program's now.
    fn forget_if_closed(&mut self) {
        if self.event.fd() >= 0 && !self.event.is_open() {
            self.forget();
        }
    }

    fn forget(&mut self) {
        self.event.forget();
        (self.at, self.stops, self.counted) = (None, 0, 0);
    }
}

/// Moves a fresh descriptor to the top of the program's limit, so that the program's own keep the low
/// numbers they have untraced. Where that fails, the low number stays.
pub(crate) fn out_of_the_way(fd: i32) -> i32 {
    // 64 below the top, so that several threads find room, or the upper quarter; and never above what fits an i32.
    let top = raw::soft_limit(libc::RLIMIT_NOFILE).min(1 << 20);
    let floor = top - 64.min(top / 4);
    if floor <= fd as u64 {
        return fd;
    }
    // SAFETY: duplicating and closing our own descriptor.
    unsafe {
        match raw::syscall(libc::SYS_fcntl, [fd as u64, libc::F_DUPFD_CLOEXEC as u64, floor, 0, 0, 0]) {
            Ok(high) => {
                raw::close(fd);
                high as i32
            }
            Err(_) => fd,
        }
    }
}
