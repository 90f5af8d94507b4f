//! A perf event of the calling thread, known by the kernel's id for it: programs close descriptors that they did not
//! open, and reuse the numbers.

#![allow(unsafe_code, reason = "descriptors are closed by number")]

use super::descriptors;
use super::perf::out_of_the_way;
use crate::event::attr::Attr;
use crate::event::{fasync, ioctl, open};
use crate::raw::{self, Errno};
use crate::record::control::Delivery;

/// Its descriptor and its id; none while the descriptor is -1.
pub(super) struct OwnEvent {
    fd: i32,
    id: u64,
}

impl OwnEvent {
    pub(super) const fn none() -> Self {
        Self { fd: -1, id: 0 }
    }

    /// The descriptor, or -1. It may lead elsewhere by now: see [`Self::is_open`].
    pub(super) const fn fd(&self) -> i32 {
        self.fd
    }

    /// Whether the descriptor still leads to the event.
    pub(super) fn is_open(&self) -> bool {
        self.fd >= 0 && ioctl::id(self.fd) == Ok(self.id)
    }

    /// Opens it, out of the program's way; nothing stays open on failure.
    ///
    /// # Errors
    /// What perf_event_open(2), ioctl(2) or fcntl(2) said.
    ///
    /// # Signal safety
    /// Raw system calls.
    pub(super) fn open(&mut self, attr: &Attr, delivery: Delivery, signal: i32) -> Result<(), Errno> {
        let fd = out_of_the_way(open::raw(attr, 0)?);
        let prepared = ioctl::id(fd).and_then(|id| {
            // Behind the move: si_fd is the number that O_ASYNC was set by.
            let directed = match delivery {
                Delivery::Fasync => fasync::direct(fd, raw::gettid(), signal),
                Delivery::Sigtrap | Delivery::Trap => Ok(()),
            };
            directed.map(|()| id)
        });
        match prepared {
            Ok(id) => {
                *self = Self { fd, id };
                descriptors::add(fd, id);
                Ok(())
            }
            Err(errno) => {
                // It may be armed already: it must not outlive this attempt.
                // SAFETY: the descriptor just opened.
                unsafe { raw::close(fd) };
                Err(errno)
            }
        }
    }

    /// Closes it if it is still there.
    ///
    /// # Signal safety
    /// ioctl and close.
    pub(super) fn close(&mut self) {
        if self.is_open() {
            // SAFETY: the descriptor of our own event, as its id has just shown.
            unsafe { raw::close(self.fd) };
        }
        self.forget();
    }

    /// Gives the number up.
    pub(super) fn forget(&mut self) {
        descriptors::remove(self.fd, self.id);
        *self = Self::none();
    }
}
